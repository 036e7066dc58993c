"""Ascription that hides types: ``M : S`` where ``S`` lists a type without its definition.

A hidden type is a new declaration; only the type checker and the elaborator know its definition.  A
member whose specified type has hidden types in it becomes a new declaration, too.  That one is
defined as the member and has the specified type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from runelift.frontend.modules.renaming import rename, with_params
from runelift.frontend.modules.structures import (
    Mod,
    Signature,
    Specified,
    Structure,
    Unknown,
    known,
)
from runelift.frontend.syntax import ast, module_ast
from runelift.frontend.syntax.nodes import Node, walk


def hides(sig: Signature) -> bool:
    """True if a module type hides the definition of any type."""
    return sig.arrow is None and (
        any(isinstance(each.spec, module_ast.TypeSpec) and each.spec.definition is None
            for each in sig.types.values()) or any(map(hides, sig.modules.values())))


@dataclass(slots=True)
class Sealing:
    """Makes the declarations of sealed modules; ``fresh`` makes names, ``emit`` takes them.

    ``whole``: the members have the specified types, whatever they are.
    """

    fresh: Callable[[str], str]
    emit: Callable[[ast.CoreDec], None]
    whole: bool = False
    hidden: set[str] = field(default_factory=set)
    """The hidden types, and the types that have such in their definitions."""

    def seal(self, mod: Mod | Unknown, sig: Signature, prefix: str, around: Structure) -> Mod:
        """A module with the members that ``sig`` lists, whose hidden types have no definition.

        ``prefix`` is the name of the module with a dot behind, ``around`` what the symbols of the
        module types around stand for.
        """
        if not isinstance(mod, Structure) or sig.arrow is not None:
            return known(mod)
        sealed = Structure()
        for kind, name in sig.order:
            table = sig.meaning(sealed, around)
            if kind == "type":
                sealed.types[name] = self._type(mod.types[name], sig.types[name], prefix, table)
            elif kind == "module":
                sealed.modules[name] = self.seal(mod.modules[name], sig.modules[name],
                                                 f"{prefix}{name}.", table)
            else:
                sealed.values[name] = self._value(mod.values[name], sig.values[name], prefix, table)
        return sealed

    def _type(self, actual: ast.QualName, specified: Specified, prefix: str,
              table: Structure) -> ast.QualName:
        spec = specified.spec
        assert isinstance(spec, module_ast.TypeSpec)
        span, params = spec.span, spec.type_params
        name = self.fresh(prefix + spec.name)
        if spec.definition is None:
            dec = ast.TypeDec(span, name, params, applied(actual, spec), spec.kind, hidden=True)
        else:
            dec = rename(ast.TypeDec(span, name, params, spec.definition, spec.kind), table)
            if not (self.whole or self._names_hidden(dec)):
                return actual
        self.hidden.add(name)
        self.emit(dec)
        return ast.QualName((), name)

    def _value(self, actual: ast.QualName, specified: Specified, prefix: str,
               table: Structure) -> ast.QualName:
        spec = specified.spec
        assert isinstance(spec, module_ast.ValSpec)
        type_exp = rename(spec.type_exp, with_params(table, spec.type_params, ()))
        if not (self.whole or self._names_hidden(type_exp)):
            return actual
        name = self.fresh(prefix + spec.name)
        self.emit(ast.ValDec(spec.span, name, spec.span, False, rename(spec.type_params, table), (),
                             type_exp, ast.Name(spec.span, actual), specified=prefix + spec.name,
                             sealed=True))
        return ast.QualName((), name)

    def _names_hidden(self, node: Node) -> bool:
        return any(isinstance(each, ast.TypeName) and each.name.name in self.hidden
                   for each in walk(node))


def applied(actual: ast.QualName, spec: module_ast.TypeSpec) -> ast.TypeName:
    """The type ``actual``, applied to the parameters of a specification."""
    return ast.TypeName(spec.span, actual, tuple(map(_argument, spec.type_params)))


def _argument(param: ast.SizeParam | ast.TypeParam) -> ast.TypeExp | ast.SizeArg:
    name = ast.QualName((), param.name)
    if isinstance(param, ast.SizeParam):
        return ast.SizeArg(param.span, ast.Name(param.span, name))
    return ast.TypeName(param.span, name)
