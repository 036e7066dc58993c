"""Ascription that hides types: ``M : S`` where ``S`` lists a type without its definition.

A hidden type is a new declaration; only the type checker and the elaborator know its definition.  A
member whose specified type has hidden types in it becomes a new declaration, too.  That one is
defined as the member and has the specified type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from runelift.frontend.modules.renaming import rename, with_params
from runelift.frontend.modules.structures import Mod, Signature, Specified, Structure
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

    def seal(self, mod: Mod, sig: Signature, prefix: str, outer: Structure) -> Mod:
        """A module that has just what ``sig`` lists, without the definitions that it leaves out.

        ``prefix`` is the name of the module with a dot behind, ``outer`` what the modules around
        have that was sealed before.
        """
        if not isinstance(mod, Structure) or sig.arrow is not None:
            return mod
        sealed = Structure()
        around = Structure(dict(mod.values), dict(outer.types), dict(outer.modules))
        later = {name for name, specified in sig.types.items() if _names_modules(specified)}
        for name in sorted(sig.types, key=later.__contains__):
            if name in later:
                self._modules(mod, sig, prefix, sealed, around)
            sealed.types[name] = self._type(mod.types[name], sig.types[name], prefix, around)
            around.types[name] = sealed.types[name]
        self._modules(mod, sig, prefix, sealed, around)
        for name, specified in sig.values.items():
            sealed.values[name] = self._value(mod.values[name], specified, prefix, around)
            around.values[name] = sealed.values[name]
        return sealed

    def _modules(self, mod: Structure, sig: Signature, prefix: str, sealed: Structure,
                 around: Structure) -> None:
        """Seal the modules inside, unless that was done before."""
        for name, inner in sig.modules.items():
            if name not in sealed.modules:
                found = self.seal(mod.modules[name], inner, f"{prefix}{name}.", around)
                sealed.modules[name] = around.modules[name] = found

    def _type(self, actual: ast.QualName, specified: Specified, prefix: str,
              around: Structure) -> ast.QualName:
        spec = specified.spec
        assert isinstance(spec, module_ast.TypeSpec)
        span, params = spec.span, spec.type_params
        name = self.fresh(prefix + spec.name)
        if spec.definition is None:
            own = ast.TypeName(span, actual, tuple(_argument(param) for param in params))
            dec = ast.TypeDec(span, name, params, own, spec.kind, hidden=True)
        else:
            dec = rename(ast.TypeDec(span, name, params, spec.definition, spec.kind),
                         _scope(specified, around))
            if not (self.whole or self._names_hidden(dec)):
                return actual
        self.hidden.add(name)
        self.emit(dec)
        return ast.QualName((), name)

    def _value(self, actual: ast.QualName, specified: Specified, prefix: str,
               around: Structure) -> ast.QualName:
        spec, scope = specified.spec, _scope(specified, around)
        assert isinstance(spec, module_ast.ValSpec)
        type_exp = rename(spec.type_exp, with_params(scope, spec.type_params, ()))
        if not (self.whole or self._names_hidden(type_exp)):
            return actual
        name = self.fresh(prefix + spec.name)
        self.emit(ast.ValDec(spec.span, name, spec.span, False, rename(spec.type_params, scope), (),
                             type_exp, ast.Name(spec.span, actual), specified=prefix + spec.name,
                             sealed=True))
        return ast.QualName((), name)

    def _names_hidden(self, node: Node) -> bool:
        return any(isinstance(each, ast.TypeName) and each.name.name in self.hidden
                   for each in walk(node))


def _names_modules(specified: Specified) -> bool:
    """True if the definition of a type has types of modules in it."""
    return isinstance(specified.spec, module_ast.TypeSpec) and any(
        isinstance(node, ast.TypeName) and node.name.quals
        for node in walk(specified.spec.definition))


def _scope(specified: Specified, around: Structure) -> Structure:
    """The scope of a line of a module type, with the sealed types of the modules around."""
    scope = specified.scope.copy()
    if not specified.refined:
        scope.values |= around.values
        scope.types |= around.types
        scope.modules |= around.modules
    return scope


def _argument(param: ast.SizeParam | ast.TypeParam) -> ast.TypeExp | ast.SizeArg:
    name = ast.QualName((), param.name)
    if isinstance(param, ast.SizeParam):
        return ast.SizeArg(param.span, ast.Name(param.span, name))
    return ast.TypeName(param.span, name)
