"""The module language, evaluated away before anything else.

Modules are structures of names.  Evaluating a module expression emits its value and type
declarations under globally unique names (``M.x``).  It yields the structure that maps the names
outside to them.  A parametric module is a closure that is evaluated anew for each application.
Only declarations without modules are left.

Ascription hides what a module type does not list, and the definitions of types that it leaves out
(:mod:`runelift.frontend.modules.sealing`).  The parameters of parametric modules stay transparent.

Source: Elsman, Henriksen, Annenkov and Oancea, Static interpretation of higher-order modules in
Futhark, ICFP 2018.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, TypeVar

from runelift.frontend.modules.assumed import HAVING, assumed, is_parametric, prelude_signature
from runelift.frontend.modules.listed import (
    LIFTED,
    check_arguments,
    check_distinct,
    check_new,
    check_type_names,
    stands_for,
)
from runelift.frontend.modules.named_sizes import named_sizes
from runelift.frontend.modules.recursion import as_loop, may_name_itself, names_itself, within
from runelift.frontend.modules.renaming import rename, with_params
from runelift.frontend.modules.sealing import Sealing, applied, hides
from runelift.frontend.modules.structures import (
    Builtin,
    Functor,
    Mod,
    Signature,
    Specified,
    Structure,
    Unknown,
    added,
    broken_name,
    find_module,
    find_signature,
    is_predefined,
    known,
    not_shipped,
    type_member,
    with_meaning,
    wrong,
)
from runelift.frontend.syntax import ast, module_ast
from runelift.frontend.syntax.broken_names import names_of
from runelift.frontend.syntax.nodes import Node, put_at, walk
from runelift.frontend.syntax.prelude import LIBRARY_MODULES
from runelift.ir.base.errors import CompilerLimitation, Diagnostic, Label, ProgramError
from runelift.ir.base.shipped import imported, is_shipped, shipped_names
from runelift.ir.base.source import Span

Reader: TypeAlias = Callable[[Path, Span], module_ast.Module]
"""Reads and parses an imported file."""

T = TypeVar("T")
NOTHING = Signature()
EMPTY = Structure()


def flatten_modules(module: module_ast.Module, read: Reader) -> ast.Flat:
    """The declarations of ``module`` and of its imports, without modules.

    The result also has the errors; it lacks the declarations with errors.
    """
    evaluator = _Evaluator(read, {dec.name for dec in module.decs
                                  if isinstance(dec, ast.ValDec) and dec.entry})
    with suppress(ProgramError):  # its errors are known
        evaluator.declarations(module.decs, Structure(), Structure(), "", entries=True)
    return ast.Flat(module.span, tuple(evaluator.out), errors=(*module.errors, *evaluator.errors),
                    broken=frozenset(evaluator.broken))


MOST_DECLARATIONS = 100_000
"""The most declarations of a program; each use of a parametric module makes more of them."""


class _Evaluator:
    def __init__(self, read: Reader, entries: set[str]) -> None:
        self.out: list[ast.CoreDec] = []
        self.errors: list[Diagnostic] = []
        self.broken: set[str] = set()
        """The global names of values and types whose declarations have errors."""
        self._read = read
        self._entries = entries
        """Names of entry points that are still to come; they stay as they are written."""
        self._used = {"|>", "<|"} | entries
        """Names of declarations, and of operators that are checked unlike functions."""
        self._copies: dict[str, int] = {}
        """The number that the last declaration of a name got."""
        self._types: dict[str, ast.TypeDec] = {}
        self._files: dict[Path, Structure | Unknown | None] = {}
        self._signatures: dict[str, Signature] = {}
        """Module types of the prelude."""
        self._checked: set[module_ast.ModLambda] = set()
        self._bodies = 0
        """The number of lists of module types read so far."""
        self._sealing = Sealing(self._fresh, self._emit)

    def _fresh(self, name: str) -> str:
        """A name that no other declaration has."""
        count = self._copies.get(name, 1)
        found = name if count == 1 else f"{name}'{count}"
        while found in self._used:
            count += 1
            found = f"{name}'{count}"
        self._copies[name] = count
        self._used.add(found)
        if len(self._used) > MOST_DECLARATIONS:
            raise CompilerLimitation(f"the program has more than {MOST_DECLARATIONS} declarations "
                                     "once its parametric modules are applied.")
        return found

    def _emit(self, dec: ast.CoreDec) -> None:
        """Add a declaration to the result."""
        if isinstance(dec, ast.TypeDec):
            self._types[dec.name] = dec
            self.out += named_sizes(dec, self._fresh)
        self.out.append(dec)

    # Declarations

    def declarations(self, decs: Iterable[module_ast.Dec], scope: Structure, exported: Structure,
                     prefix: str, *, entries: bool = False) -> None:
        """Evaluate declarations: they extend ``scope`` and, unless local, ``exported``.

        Errors are noted.  ProgramError without text if a declaration with errors may define any
        name: nothing is known then about the declarations that follow.
        """
        seen: dict[tuple[type[module_ast.Dec], str], Span] = {}
        for dec in decs:
            try:
                _check_first(dec, seen)
                self._declaration(dec, scope, exported, prefix, entries)
            except ProgramError as error:
                self.errors += error.diagnostics
                found = self._broken(dec)
                scope.add(found)
                if not isinstance(dec, module_ast.LocalDec):
                    exported.add(found)

    def _broken(self, dec: module_ast.Dec) -> Structure:
        """The name of a declaration that has errors; ProgramError if that can be any name."""
        found = Structure()
        match dec:
            case ast.ValDec(_, name):
                found.values[name] = ast.QualName((), broken_name(name))
            case ast.TypeDec(_, name):
                found.types[name] = ast.QualName((), broken_name(name))
            case module_ast.ModDec(_, name):
                found.modules[name] = Unknown()
            case module_ast.SigDec(_, name):
                found.signatures[name] = Unknown()
            case module_ast.LocalDec(_, inner):
                return self._broken(inner)
            case module_ast.OpenDec() | module_ast.BrokenDec():
                raise ProgramError()
        self.broken |= {each.name for each in (*found.values.values(), *found.types.values())}
        return found

    def _unparsed(self, span: Span, others: Structure) -> Structure:
        """The names that a declaration without a tree may add to the names of ``others``.

        ProgramError if it may define any name.
        """
        names, found = names_of(span), Structure()
        if names.others:
            raise ProgramError()
        new = {name for name in names.mentioned if not (others.knows(name) or is_predefined(name))}
        for name in names.defined | new:
            found.add_broken(name)
            self.broken.add(broken_name(name))
        return found

    def _declaration(self, dec: module_ast.Dec, scope: Structure, exported: Structure, prefix: str,
                     entries: bool) -> None:
        found = Structure()
        match dec:
            case ast.ValDec(span, name):
                if name in ("&&", "||"):
                    raise wrong("not-definable", span, f"The operator {name} cannot be defined "
                                "anew, because it does not evaluate all of its operands.")
                found.values[name] = self._value(dec, scope, prefix, entries)
            case ast.TypeDec(span, name, type_params):
                check_distinct([p.name for p in type_params], span)
                found.types[name] = self._type(dec, scope, prefix)
            case module_ast.ModDec(_, name, mod):
                found.modules[name] = self.evaluate(mod, scope, f"{prefix}{name}.")
            case module_ast.SigDec(_, name, sig):
                found.signatures[name] = self._signature(sig, scope)
            case module_ast.OpenDec(span, mod):
                # its hidden names must be none that the program can write
                opened = self.evaluate(mod, scope, prefix or "open.")
                if isinstance(opened, Functor):
                    raise wrong("not-a-structure", span, "A parametric module cannot be opened.",
                                "Apply it to a module first.")
                found = (Structure(opened=(opened.prim,)) if isinstance(opened, Builtin)
                         else opened)
            case module_ast.LocalDec(_, inner):
                self._declaration(inner, scope, Structure(), prefix, entries)
            case module_ast.BrokenDec(span):
                found = self._unparsed(span, scope)
                exported.add(self._unparsed(span, exported))  # may have names known outside
        scope.add(found)
        exported.add(found)

    def _value(self, dec: ast.ValDec, scope: Structure, prefix: str,
               entries: bool) -> ast.QualName:
        itself, is_entry = may_name_itself(dec, scope), dec.entry and entries
        name = dec.name if is_entry and dec.name in self._entries else self._fresh(
            prefix + dec.name)
        self._entries.discard(name)
        dec = as_loop(dec) if itself else dec
        new = rename(dec, within(scope, dec, name) if itself else scope)
        new.name, new.recursive = name, itself and names_itself(dec, scope)
        new.entry = is_entry
        self.out.append(new)
        return ast.QualName((), new.name)

    def _type(self, dec: ast.TypeDec, scope: Structure, prefix: str) -> ast.QualName:
        new = rename(dec, scope)
        new.name = self._fresh(prefix + dec.name)
        self._check_elements(new)
        for node in walk(new.definition):
            if isinstance(node, ast.TypeName) and not new.kind:
                known = self._types.get(node.name.name)
                if known is not None and known.kind == "~":
                    raise wrong("lifted-abbreviation", dec.span, "Non-size-lifted type "
                                "abbreviations may not contain size-lifted types.",
                                f"Declare it as type~ {dec.name}.")
        self._emit(new)
        return ast.QualName((), new.name)

    # Modules

    def evaluate(self, mod: module_ast.ModExp, scope: Structure, prefix: str) -> Mod:
        """The module that an expression is; its declarations are named after ``prefix``."""
        match mod:
            case module_ast.ModName(span, name):
                if name.name in LIBRARY_MODULES and name.name not in scope.modules:
                    raise wrong("not-a-module", span, f"The '{name}' module may not be used in "
                                "module expressions.")
                return find_module((*name.quals, name.name), scope, span)
            case module_ast.ModBody(_, decs):
                for dec in decs:
                    if isinstance(dec, ast.ValDec) and dec.entry:
                        raise wrong("bad-entry", dec.span, "Entry points may not be declared "
                                    "inside of modules.", "Write def.")
                found = Structure()
                self.declarations(decs, scope.copy(), found, prefix)
                return found
            case module_ast.ModApply(span, fun, arg):
                functor = self.evaluate(fun, scope, prefix)
                if not isinstance(functor, Functor):
                    raise wrong("not-parametric", span, "This module has no parameter.")
                given = self.evaluate(arg, scope, f"{prefix}{functor.param}.")
                wanted = self._signature(functor.sig, functor.scope)
                inner = functor.scope.copy()
                inner.modules[functor.param] = self._ascribe(given, wanted, arg.span)
                kept, checked = len(self.out), not is_parametric(wanted)
                made = self.evaluate(functor.body, inner, prefix)
                for dec in self.out[kept:]:
                    if isinstance(dec, ast.ValDec):
                        dec.instance = checked
                return made
            case module_ast.ModAscript(span, inner_mod, sig):
                wanted = self._signature(sig, scope)
                plain = self._ascribe(self.evaluate(inner_mod, scope, prefix), wanted, span)
                if hides(wanted):
                    return self._sealing.seal(plain, wanted, prefix, Structure())
                return plain
            case module_ast.ModLambda(_, param, sig, body):
                functor = Functor(param, sig, body, scope.copy())
                if mod not in self._checked:  # first inside of a parametric module around it
                    self._checked.add(mod)
                    self._check_functor(functor, prefix)
                return functor
            case module_ast.ModImport(span, path):
                return self._import(path, span)

    def _check_functor(self, functor: Functor, prefix: str) -> None:
        """Check a parametric module for any module of the type of its parameter.

        Its declarations for a module of which nothing else is known are there to be checked.
        """
        sig = self._signature(functor.sig, functor.scope)
        if is_parametric(sig):
            return
        kept, files = len(self.out), dict(self._files)
        inner = functor.scope.copy()
        inner.modules[functor.param] = assumed(sig, f"{functor.param}.", self._fresh, self._emit)
        try:
            self.evaluate(functor.body, inner, prefix)
        finally:
            self._files = files
        for dec in self.out[kept:]:
            self._check_elements(dec)
            if isinstance(dec, ast.ValDec):
                dec.only_checks = True

    def _prelude(self, name: str, span: Span) -> Signature:
        """The members that a module type of the prelude lists, which is asked for at ``span``."""
        if name not in self._signatures:
            self._signatures[name] = self._signature(prelude_signature(name), Structure())

        def here(listed: dict[str, Specified]) -> dict[str, Specified]:
            return {each: replace(specified, spec=replace(specified.spec, span=span),
                                  prims=HAVING[name]) for each, specified in listed.items()}

        listed = self._signatures[name]
        return replace(listed, values=here(listed.values), types=here(listed.types))

    def _check_elements(self, node: Node) -> None:
        """Refuse arrays whose element types may have functions or sizes inside."""
        for array in walk(node):
            for part in ast.held(array.elem) if isinstance(array, ast.TypeArray) else ():
                if isinstance(part, ast.TypeArrow):
                    raise wrong("function-not-allowed", part.span, "Cannot create array with "
                                "elements that hold functions.",
                                "Pass one function that takes an index.")
                known = self._types.get(part.name.name) if isinstance(part, ast.TypeName) else None
                if known is not None and known.kind:
                    raise wrong("lifted-element", array.span, "Cannot create array with elements "
                                f'of type "{known.name}", which is lifted: its values might hold '
                                "functions or differ in size.")

    def _import(self, path: str, span: Span) -> Structure:
        importer = Path(span.source.name)
        try:
            place = imported(importer, path)
        except (OSError, ValueError) as error:  # a name that no file can have
            raise wrong("missing-import", span, f"Cannot import '{path:.80}': {error}.") from None
        if path.startswith("std/") and not place.is_file():
            raise not_shipped(path, span, shipped_names())
        if place not in self._files:
            self._files[place] = None
            named = place if importer.is_absolute() or is_shipped(place) else Path(
                os.path.relpath(place))
            try:
                self._files[place] = self._exported(self._read(named, span), place.stem)
            except ProgramError:
                self._files[place] = Unknown()
                raise
        structure = self._files[place]
        if structure is None:
            raise wrong("cyclic-import", span, f"'{path}' imports itself.")
        if isinstance(structure, Unknown):
            raise ProgramError()
        return structure

    def _exported(self, module: module_ast.Module, name: str) -> Structure:
        """The names of a file that is imported; ProgramError if errors leave them open."""
        self.errors += module.errors
        if module.in_doubt:
            raise ProgramError()
        found = Structure()
        self.declarations(module.decs, Structure(), found, f"{name}.")
        return found

    # Module types

    def _signature(self, sig: module_ast.SigExp, scope: Structure) -> Signature:
        """The members that a module type lists."""
        match sig:
            case module_ast.SigName(span, ast.QualName((), name)) if (
                    name in HAVING and name not in scope.signatures):
                return self._prelude(name, span)
            case module_ast.SigName(span, name):
                return find_signature(name, scope, span)
            case module_ast.SigBody(_, specs):
                self._bodies += 1
                body = self._bodies
                found, inner = Signature(bodies=frozenset((body,))), scope.copy()
                for spec in specs:
                    more = self._spec(spec, inner)
                    if not isinstance(spec, module_ast.IncludeSpec):
                        check_new(more, found, spec.span)
                    found = found.plus(more)
                    inner.add(more.symbols(body))
                return found
            case module_ast.SigWith():
                return self._refined(sig, self._signature(sig.sig, scope), scope)
            case module_ast.SigArrow():
                return Signature(arrow=(sig, scope.copy()))

    def _refined(self, sig: module_ast.SigWith, base: Signature, scope: Structure) -> Signature:
        """``base with t = u``: the module type in which ``t`` is known to be ``u``."""
        inner, name = base, sig.name.name
        for qual in sig.name.quals:
            inner = inner.modules.get(qual, NOTHING)
        if name not in inner.types:
            raise wrong("unknown-type", sig.span, f"The module type has no type '{sig.name}'.")
        name = inner.abstract(name)
        old = inner.types[name].spec
        assert isinstance(old, module_ast.TypeSpec)
        if old.definition is not None:
            raise wrong("unknown-type", sig.span,
                        f"The module type says already what type '{sig.name}' is.")
        if len(old.type_params) != len(sig.type_params) or not all(
                map(stands_for, old.type_params, sig.type_params)):
            raise wrong("type-arguments", sig.span, f"Cannot refine the type '{sig.name}': it has "
                        "other parameters in the module type.",
                        f"Write with {sig.name} with as many parameters of each kind as there.")
        spec = module_ast.TypeSpec(sig.span, name, sig.type_params, sig.definition, old.kind)
        found = self._specified_type(spec, scope)
        assert isinstance(found.spec, module_ast.TypeSpec)
        assert found.spec.definition is not None
        kind = max(old.kind, self._lifted(found.spec.definition), key=LIFTED.index)
        found = replace(found, spec=replace(found.spec, kind=kind))
        return base.refined((*sig.name.quals, name), found)

    def _lifted(self, definition: ast.TypeExp) -> str:
        """The least mark of a type with a definition, in which names are global."""
        found = ""
        for node in walk(definition):
            needed = ""
            match node:
                case ast.TypeArrow():
                    needed = "^"
                case ast.TypeExists() | ast.TypeArray(size=None):
                    needed = "~"
                case ast.TypeName() if (known := self._types.get(node.name.name)) is not None:
                    needed = known.kind if known.hidden else self._lifted(known.definition)
            found = max(found, needed, key=LIFTED.index)
        return found

    def _specified_type(self, spec: module_ast.TypeSpec, scope: Structure) -> Specified:
        """A type that a module type lists."""
        check_distinct([p.name for p in spec.type_params], spec.span)
        check_type_names(spec.definition, scope, spec.type_params)
        inner = with_params(scope, spec.type_params, ())
        specified = Specified(replace(spec, definition=rename(spec.definition, inner)))
        self._check_elements(specified.spec)
        return specified

    def _spec(self, spec: module_ast.Spec, scope: Structure) -> Signature:
        """The members that one line of a module type lists."""
        match spec:
            case module_ast.ValSpec(span, name, type_params, type_exp):
                check_distinct([p.name for p in type_params], span)
                check_arguments(type_exp, set())
                check_type_names(type_exp, scope, type_params)
                inner = with_params(scope, type_params, ())
                value = Specified(replace(spec, type_exp=rename(type_exp, inner)))
                self._check_elements(value.spec)
                return Signature(values={name: value}, order=(("value", name),))
            case module_ast.TypeSpec(_, name):
                return Signature(types={name: self._specified_type(spec, scope)},
                                 order=(("type", name),))
            case module_ast.ModSpec(_, name, sig):
                return Signature(modules={name: self._signature(sig, scope)},
                                 order=(("module", name),))
            case module_ast.IncludeSpec(_, sig):
                return self._signature(sig, scope)

    def _ascribe(self, found: Mod | Unknown, sig: Signature, span: Span, around: Structure = EMPTY,
                 path: str = "") -> Mod:
        """The module with only those names that the module type lists.

        It is called ``path``, with a dot behind, in the module around it; ``around`` is what the
        symbols of the module types around stand for.
        """
        mod = known(found)
        if isinstance(mod, Functor):
            if sig.arrow is None:
                raise wrong("not-a-structure", span, "A module without parameter is asked for "
                            "here.", "Apply it to a module first.")
            arrow, scope = sig.arrow
            return self._restricted(mod, arrow, with_meaning(scope, around), span)
        if sig.arrow is not None:
            raise wrong("not-parametric", span, "A parametric module is asked for here.")
        if isinstance(mod, Builtin):
            mod = Structure(opened=(mod.prim,))
        modules: dict[str, Mod | Unknown] = _pick(mod.modules.get, sig.modules, "module", span)
        found = Structure(
            _pick(mod.value, sig.values, "value", span),
            _pick(mod.type, sig.types, "type", span), modules)
        table = sig.meaning(found, around)
        types = {name: self._kept_type(found.types[name], specified.spec, table, path, span)
                 for name, specified in sig.types.items()}
        typed = self._check_specs(found, table, sig, path, span)
        return Structure(
            found.values | typed, types,
            {name: self._ascribe(modules[name], inner, span, table, f"{path}{name}.")
             for name, inner in sig.modules.items()})

    def _restricted(self, functor: Functor, arrow: module_ast.SigArrow, scope: Structure,
                    span: Span) -> Functor:
        """``\\(P: S) -> F P : T``: the parametric module F as one of the type ``(P: S) -> T``."""
        inner, param = scope.copy(), arrow.param or "P"
        inner.modules["->"] = functor
        whole, argument = (module_ast.ModName(span, ast.QualName((), name))
                           for name in ("->", param))
        applied = module_ast.ModApply(span, whole, argument)
        body = module_ast.ModAscript(span, applied, arrow.codomain)
        restricted = Functor(param, arrow.domain, body, inner)
        self._check_functor(restricted, f"{functor.param}.")
        return restricted

    def _kept_type(self, actual: ast.QualName, spec: module_ast.ValSpec | module_ast.TypeSpec,
                   table: Structure, path: str, span: Span) -> ast.QualName:
        """A type of a module that gets a module type, as lifted as the latter says.

        It has the parameters that are specified, and if its definition is not, it may be lifted
        only as far as is specified.
        """
        dec = self._types.get(actual.name)
        if dec is None or not isinstance(spec, module_ast.TypeSpec):
            return actual
        exactly = spec.definition is not None
        if len(dec.type_params) != len(spec.type_params) or not all(
                stands_for(own, other, exactly=exactly) for own, other in zip(
                    dec.type_params, spec.type_params, strict=True)):
            raise wrong("type-arguments", span, f'The type "{spec.name}" has other parameters than '
                        "its module type asks for.")
        if dec.kind == spec.kind:
            return actual
        if spec.definition is not None:
            new = rename(ast.TypeDec(spec.span, self._fresh(path + spec.name), spec.type_params,
                                     spec.definition, spec.kind), table)
            self._emit(new)
            return ast.QualName((), new.name)
        if LIFTED.index(dec.kind) < LIFTED.index(spec.kind):
            return actual
        if dec.kind == "^":
            raise wrong("function-not-allowed", span, f'The type "{spec.name}" may be functional, '
                        "but its module type asks for a non-functional one.",
                        "Non-lifted type abbreviations may not contain functions.")
        raise wrong("lifted-abbreviation", span, f'The type "{spec.name}" is size-lifted, but its '
                    "module type asks for a non-lifted one.",
                    f"Write type~ {spec.name} in the module type.")

    def _check_specs(self, found: Structure, table: Structure, sig: Signature,
                     path: str, span: Span) -> dict[str, ast.QualName]:
        """Add declarations that have types only if the members have the types of the module type.

        The result are the functions that have these types: their own may be more general.
        """
        typed: dict[str, ast.QualName] = {}
        for specified in (*sig.types.values(), *sig.values.values()):
            spec = specified.spec
            inner = with_params(table, spec.type_params, ())
            params = rename(spec.type_params, table)
            if isinstance(spec, module_ast.ValSpec):
                if _is_known(specified, found):
                    continue
                value = found.values[spec.name]
                type_exp = rename(spec.type_exp, inner)
                if specified.prims:
                    put_at(spec.span, type_exp)
                general = isinstance(type_exp, ast.TypeArrow)
                self.out.append(ast.ValDec(
                    spec.span, self._fresh(f"val {spec.name}"), spec.span, False, params, (),
                    type_exp, ast.Name(spec.span, value), specified=path + spec.name,
                    only_checks=not general))
                if general:
                    typed[spec.name] = ast.QualName((), self.out[-1].name)
            elif spec.definition is not None:
                own: ast.TypeExp = applied(found.types[spec.name], spec)
                wanted = rename(spec.definition, inner)
                self._check_one_is(own, wanted, spec, path, span)
                if spec.kind == "~":  # one may have less sizes than the other
                    self._check_one_is(wanted, own, spec, path, span)
        return typed

    def _check_one_is(self, one: ast.TypeExp, other: ast.TypeExp, spec: module_ast.TypeSpec,
                      path: str, span: Span) -> None:
        """Add a declaration that has a type only if each value of ``one`` type is of the other."""
        param = ast.PatAscript(spec.span, ast.PatName(span, "x"), one)
        self.out.append(ast.ValDec(
            spec.span, self._fresh(f"val {spec.name}"), spec.span, False,
            rename(spec.type_params, EMPTY), (param,), other,
            ast.Name(spec.span, ast.QualName((), "x")), specified=path + spec.name,
            only_checks=True))


def _is_known(specified: Specified, found: Structure) -> bool:
    """True if a value is a built-in module's member of exactly the specified type."""
    assert isinstance(specified.spec, module_ast.ValSpec)
    prim = ".".join(found.values[specified.spec.name].quals)
    return prim in {each.value for each in specified.prims} and all(
        found.types[name] == type_member(prim, name) for name in ("t", "int_t")
        if name in found.types)


def _check_first(dec: module_ast.Dec,
                 seen: dict[tuple[type[module_ast.Dec], str], Span]) -> None:
    """Refuse a declaration of the same kind and name as one in ``seen``; add it otherwise."""
    if isinstance(dec, ast.ValDec | ast.TypeDec | module_ast.ModDec | module_ast.SigDec):
        place = dec.name_span if isinstance(dec, ast.ValDec) else dec.span
        first = seen.setdefault((type(dec), dec.name), place)
        if first is not place:
            raise ProgramError(Diagnostic(
                "duplicate-name", place, f"Duplicate definition of '{dec.name}'.",
                (Label(first, "first defined here"),),
                ("Each has a name of its own, whatever its parameters are.",)))


def _pick(find: Callable[[str], T | None], wanted: Iterable[str], what: str,
          span: Span) -> dict[str, T]:
    found: dict[str, T] = {}
    for name in sorted(wanted):
        if (each := find(name)) is None:
            raise wrong("missing-member", span,
                        f"The module has no {what} '{name}', which its module type asks for.",
                        added(what, name, span.text))
        found[name] = each
    return found
