"""The module language, evaluated away before anything else.

Modules are structures of names; evaluating a module expression emits its value and type
declarations under globally unique names (``M.x``) and yields the structure that says what they are
called outside.  A parametric module is a closure that is evaluated anew for each application
(Elsman, Henriksen, Annenkov and Oancea, "Static interpretation of higher-order modules in
Futhark", ICFP 2018).  What is left are declarations without modules.

Ascription hides what a module type does not list.  Its types stay transparent here.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from runelift.frontend import ast
from runelift.frontend.prelude import member
from runelift.ir.errors import Code, Diagnostic, Label, ProgramError
from runelift.ir.prim import Prim
from runelift.ir.source import Span

T = TypeVar("T")
PRIMS = frozenset(prim.value for prim in Prim)
OPEN_SIGNATURES = frozenset({"numeric", "integral", "real", "float", "from_prim", "size"})
"""Module types of the prelude, which all numeric modules have; they restrict nothing."""

Reader: TypeAlias = Callable[[Path, Span], ast.Module]
"""Reads and parses an imported file."""


@dataclass(frozen=True, slots=True)
class Builtin:
    """A numeric module such as ``f32``."""

    prim: str


@dataclass(slots=True)
class Structure:
    """What a module is outside, or a scope inside: source names to what they stand for.

    ``local`` are variables of the expressions around, which hide everything else.
    """

    values: dict[str, ast.QualName] = field(default_factory=dict)
    types: dict[str, ast.QualName] = field(default_factory=dict)
    modules: dict[str, Mod] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)
    opened: tuple[str, ...] = ()
    local: frozenset[str] = frozenset()

    def copy(self) -> Structure:
        """A structure that can grow without changing this one."""
        return Structure(dict(self.values), dict(self.types), dict(self.modules),
                         dict(self.signatures), self.opened, self.local)

    def add(self, other: Structure) -> None:
        """Take in all names of another structure."""
        self.values |= other.values
        self.types |= other.types
        self.modules |= other.modules
        self.signatures |= other.signatures
        self.opened += other.opened

    def hiding(self, values: Iterable[str], types: Iterable[str] = ()) -> Structure:
        """The scope inside of binders of variables and type parameters."""
        hidden, gone = frozenset(values), set(types)
        return Structure(self.values, {k: v for k, v in self.types.items() if k not in gone},
                         self.modules, self.signatures, self.opened, self.local | hidden)


@dataclass(frozen=True, slots=True)
class Functor:
    """A parametric module and the scope that it was written in."""

    param: str
    sig: ast.SigExp
    body: ast.ModExp
    scope: Structure


Mod: TypeAlias = Structure | Functor | Builtin


@dataclass(frozen=True, slots=True)
class Specified:
    """A value or type that a module type lists, and the scope that this was written in."""

    spec: ast.ValSpec | ast.TypeSpec
    scope: Structure


@dataclass(frozen=True, slots=True)
class Signature:
    """The names that a module type lists; ``open``: it does not restrict any."""

    values: dict[str, Specified] = field(default_factory=dict)
    types: dict[str, Specified] = field(default_factory=dict)
    modules: dict[str, Signature] = field(default_factory=dict)
    open: bool = False

    def plus(self, other: Signature) -> Signature:
        """What either lists."""
        return Signature({**self.values, **other.values}, {**self.types, **other.types},
                         {**self.modules, **other.modules}, self.open or other.open)


def flatten_modules(module: ast.Module, read: Reader) -> ast.Flat:
    """``module`` and all that it imports as declarations without modules."""
    evaluator = _Evaluator(read)
    evaluator.declarations(module.decs, Structure(), Structure(), "", entries=True)
    return ast.Flat(module.span, tuple(evaluator.out))


def _error(code: Code, span: Span, message: str, *hints: str) -> ProgramError:
    return ProgramError(Diagnostic(code, span, message, hints=hints))


class _Evaluator:
    def __init__(self, read: Reader) -> None:
        self.out: list[ast.CoreDec] = []
        self._read = read
        self._used: set[str] = set()
        self._types: dict[str, ast.TypeDec] = {}
        self._files: dict[Path, Structure | None] = {}

    def _fresh(self, name: str) -> str:
        """A name that no other declaration has."""
        found, count = name, 1
        while found in self._used:
            count += 1
            found = f"{name}'{count}"
        self._used.add(found)
        return found

    # Declarations

    def declarations(self, decs: Iterable[ast.Dec], scope: Structure, exported: Structure,
                     prefix: str, *, entries: bool = False) -> None:
        """Evaluate declarations: they extend ``scope`` and, unless local, ``exported``."""
        seen: dict[tuple[type[ast.Dec], str], Span] = {}
        for dec in decs:
            if isinstance(dec, ast.ValDec | ast.TypeDec | ast.ModDec | ast.SigDec):
                place = dec.name_span if isinstance(dec, ast.ValDec) else dec.span
                first = seen.setdefault((type(dec), dec.name), place)
                if first is not place:
                    raise ProgramError(Diagnostic(
                        "duplicate-name", place, f"Duplicate definition of '{dec.name}'.",
                        (Label(first, "first defined here"),)))
            self._declaration(dec, scope, exported, prefix, entries)

    def _declaration(self, dec: ast.Dec, scope: Structure, exported: Structure, prefix: str,
                     entries: bool) -> None:
        found = Structure()
        match dec:
            case ast.ValDec(span, name):
                if name in ("&&", "||"):
                    raise _error("not-definable", span, f"The operator {name} cannot be defined "
                                 "anew, because it does not evaluate all of its operands.")
                found.values[name] = self._value(dec, scope, prefix, entries)
            case ast.TypeDec(span, name, type_params):
                _check_distinct([p.name for p in type_params], span)
                found.types[name] = self._type(dec, scope, prefix)
            case ast.ModDec(_, name, mod):
                found.modules[name] = self.evaluate(mod, scope, f"{prefix}{name}.")
            case ast.SigDec(_, name, sig):
                found.signatures[name] = self._signature(sig, scope)
            case ast.OpenDec(span, mod):
                opened = self.evaluate(mod, scope, prefix)
                if isinstance(opened, Functor):
                    raise _error("not-a-structure", span, "A parametric module cannot be opened.",
                                 "Apply it to a module first.")
                found = (Structure(opened=(opened.prim,)) if isinstance(opened, Builtin)
                         else opened)
            case ast.LocalDec(_, inner):
                self._declaration(inner, scope, Structure(), prefix, entries)
        scope.add(found)
        exported.add(found)

    def _value(self, dec: ast.ValDec, scope: Structure, prefix: str,
               entries: bool) -> ast.QualName:
        new = rename(dec, scope)
        new.name = self._fresh(prefix + dec.name)
        new.entry = dec.entry and entries
        self.out.append(new)
        return ast.QualName((), new.name)

    def _type(self, dec: ast.TypeDec, scope: Structure, prefix: str) -> ast.QualName:
        new = rename(dec, scope)
        new.name = self._fresh(prefix + dec.name)
        self._types[new.name] = new
        self.out.append(new)
        return ast.QualName((), new.name)

    # Modules

    def evaluate(self, mod: ast.ModExp, scope: Structure, prefix: str) -> Mod:
        """The module that an expression is; its declarations are named after ``prefix``."""
        match mod:
            case ast.ModName(span, name):
                return _find_module((*name.quals, name.name), scope, span)
            case ast.ModBody(_, decs):
                found = Structure()
                self.declarations(decs, scope.copy(), found, prefix)
                return found
            case ast.ModApply(span, fun, arg):
                functor = self.evaluate(fun, scope, prefix)
                if not isinstance(functor, Functor):
                    raise _error("not-parametric", span, "This module has no parameter.")
                given = self.evaluate(arg, scope, f"{prefix}{functor.param}.")
                inner = functor.scope.copy()
                inner.modules[functor.param] = self._ascribe(
                    given, self._signature(functor.sig, functor.scope), arg.span)
                return self.evaluate(functor.body, inner, prefix)
            case ast.ModAscript(span, inner_mod, sig):
                return self._ascribe(self.evaluate(inner_mod, scope, prefix),
                                     self._signature(sig, scope), span)
            case ast.ModLambda(_, param, sig, body):
                return Functor(param, sig, body, scope.copy())
            case ast.ModImport(span, path):
                return self._import(path, span)

    def _import(self, path: str, span: Span) -> Structure:
        place = (Path(span.source.name).parent / f"{path}.fut").resolve()
        if place not in self._files:
            self._files[place] = None
            found = Structure()
            self.declarations(self._read(place, span).decs, Structure(), found,
                              f"{place.stem}.")
            self._files[place] = found
        structure = self._files[place]
        if structure is None:
            raise _error("cyclic-import", span, f"'{path}' imports itself.")
        return structure

    # Module types

    def _signature(self, sig: ast.SigExp, scope: Structure) -> Signature:
        match sig:
            case ast.SigName(span, name):
                return _find_signature(name, scope, span)
            case ast.SigBody(_, specs):
                found = Signature()
                inner = scope.copy()
                for spec in specs:
                    found = found.plus(self._spec(spec, inner))
                return found
            case ast.SigWith(span, base, name):
                found = self._signature(base, scope)
                if not name.quals and name.name not in found.types and not found.open:
                    raise _error("unknown-type", span,
                                 f"The module type has no type '{name.name}'.")
                return found
            case ast.SigArrow():
                return Signature(open=True)

    def _spec(self, spec: ast.Spec, scope: Structure) -> Signature:
        match spec:
            case ast.ValSpec(span, name, type_params, type_exp):
                _check_distinct([p.name for p in type_params], span)
                _check_arguments(type_exp, set())
                return Signature(values={name: Specified(spec, scope)})
            case ast.TypeSpec(span, name, type_params):
                _check_distinct([p.name for p in type_params], span)
                return Signature(types={name: Specified(spec, scope)})
            case ast.ModSpec(_, name, sig):
                return Signature(modules={name: self._signature(sig, scope)})
            case ast.IncludeSpec(_, sig):
                return self._signature(sig, scope)

    def _ascribe(self, mod: Mod, sig: Signature, span: Span,
                 outer: Structure | None = None) -> Mod:
        """The module with only those names that the module type lists."""
        if sig.open or isinstance(mod, Functor):
            return mod
        if isinstance(mod, Builtin):
            mod = _as_structure(mod, sig)
        modules = _pick(mod.modules, sig.modules, "module", span)
        found = Structure(
            _pick(mod.values, sig.values, "value", span),
            _pick(mod.types, sig.types, "type", span))
        around = Structure(types=dict(outer.types), modules=dict(outer.modules)
                           ) if outer is not None else Structure()
        around.modules |= {name: mod.modules[name] for name in sig.modules}
        for name, specified in sig.types.items():
            self._check_kind(name, specified.spec, found.types[name], span)
        self._check_specs(found, around, sig)
        around.types |= found.types
        return Structure(
            found.values, found.types,
            {name: self._ascribe(modules[name], inner, span, around)
             for name, inner in sig.modules.items()})

    def _check_kind(self, name: str, spec: ast.ValSpec | ast.TypeSpec, actual: ast.QualName,
                    span: Span) -> None:
        """A type has the parameters that are specified, and functions inside only if they may."""
        dec = self._types.get(actual.name)
        if dec is None or not isinstance(spec, ast.TypeSpec):
            return
        if [type(p) for p in dec.type_params] != [type(p) for p in spec.type_params]:
            raise _error("type-arguments", span, f'The type "{name}" has other parameters than its '
                         "module type asks for.")
        if dec.kind == "^" and spec.kind != "^":
            raise _error("function-not-allowed", span, f'The type "{name}" may be functional, but '
                         "its module type asks for a non-lifted one.",
                         "Non-lifted type abbreviations may not contain functions.")

    def _check_specs(self, found: Structure, around: Structure, sig: Signature) -> None:
        """Declarations that have types only if the members have those that are specified.

        ``around`` are the members of the modules around, which the module type may name.
        """
        for specified in (*sig.types.values(), *sig.values.values()):
            spec, scope = specified.spec, specified.scope.copy()
            scope.values |= found.values
            scope.types |= {**around.types, **found.types}
            scope.modules |= around.modules
            if isinstance(spec, ast.ValSpec):
                inner = _with_params(scope, spec.type_params, ())
                self.out.append(ast.ValDec(
                    spec.span, self._fresh(f"val {spec.name}"), spec.span, False,
                    rename(spec.type_params, scope), (), rename(spec.type_exp, inner),
                    ast.Name(spec.span, found.values[spec.name]), specified=spec.name))
            elif spec.definition is not None and not spec.type_params:
                own = ast.TypeName(spec.span, found.types[spec.name])
                param = ast.PatAscript(spec.span, ast.PatName(spec.span, "x"), own)
                outer = specified.scope.copy()
                outer.modules |= around.modules
                outer.types |= {**around.types, **{
                    name: type_ for name, type_ in found.types.items() if name != spec.name}}
                self.out.append(ast.ValDec(
                    spec.span, self._fresh(f"val {spec.name}"), spec.span, False, (), (param,),
                    rename(spec.definition, outer),
                    ast.Name(spec.span, ast.QualName((), "x")), specified=spec.name))


def _check_distinct(names: list[str], span: Span) -> None:
    for k, name in enumerate(names):
        if name in names[:k]:
            raise _error("duplicate-name", span, f'Duplicate: "{name}" was previously defined.')


def _check_arguments(exp: ast.TypeExp, names: set[str]) -> None:
    """The arguments of a specified function have names of their own and sizes that are named."""
    while isinstance(exp, ast.TypeArrow):
        if exp.param is not None and exp.param in names:
            raise _error("duplicate-name", exp.span,
                         f'Duplicate: "{exp.param}" was previously defined.')
        names.add(exp.param or "")
        if _has_anonymous(exp.domain):
            raise _error("anonymous-size", exp.domain.span,
                         "The sizes of an argument must be non-anonymous in a module type.",
                         "Name the size: val f [n] : [n]t -> u.")
        exp = exp.codomain


def _has_anonymous(exp: ast.TypeExp) -> bool:
    match exp:
        case ast.TypeArray(_, size, elem):
            return size is None or _has_anonymous(elem)
        case ast.TypeTuple(_, items):
            return any(map(_has_anonymous, items))
        case ast.TypeUnique(_, inner):
            return _has_anonymous(inner)
    return False


def _pick(found: dict[str, T], wanted: Iterable[str], what: str, span: Span) -> dict[str, T]:
    for name in sorted(wanted):
        if name not in found:
            raise _error("missing-member", span,
                         f"The module has no {what} '{name}', which its module type asks for.")
    return {name: found[name] for name in wanted}


def _as_structure(builtin: Builtin, sig: Signature) -> Structure:
    return Structure({name: ast.QualName((builtin.prim,), name) for name in sig.values
                      if member(builtin.prim, name) is not None},
                     {"t": ast.QualName((), builtin.prim)})


# Names


def _find_module(path: tuple[str, ...], scope: Structure, span: Span) -> Mod:
    mod: Mod = scope
    for k, part in enumerate(path):
        inner = mod.modules.get(part) if isinstance(mod, Structure) else None
        if inner is None and k == 0 and part in PRIMS:
            inner = Builtin(part)
        if inner is None:
            near = difflib.get_close_matches(part, mod.modules, 1) if isinstance(
                mod, Structure) else []
            raise _error("unknown-module", span, f"Unknown module '{'.'.join(path[:k + 1])}'.",
                         *(f"Did you mean '{n}'?" for n in near))
        mod = inner
    return mod


def _find_signature(name: ast.QualName, scope: Structure, span: Span) -> Signature:
    around = _find_module(name.quals, scope, span) if name.quals else scope
    if isinstance(around, Structure) and name.name in around.signatures:
        return around.signatures[name.name]
    if not name.quals and name.name in OPEN_SIGNATURES:
        return Signature(open=True)
    known = around.signatures if isinstance(around, Structure) else ()
    near = difflib.get_close_matches(name.name, known, 1)
    raise _error("unknown-module-type", span, f"Unknown module type '{name}'.",
                 *(f"Did you mean '{n}'?" for n in near))


def _find_value(name: ast.QualName, scope: Structure, span: Span) -> ast.QualName:
    if name.quals:
        return _member_value(_find_module(name.quals, scope, span), name, span)
    if name.name in scope.local:
        return name
    if name.name in scope.values:
        return scope.values[name.name]
    for prim in reversed(scope.opened):
        if member(prim, name.name) is not None:
            return ast.QualName((prim,), name.name)
    return name


def _member_value(mod: Mod, name: ast.QualName, span: Span) -> ast.QualName:
    if isinstance(mod, Builtin):
        return ast.QualName((mod.prim,), name.name)
    if isinstance(mod, Structure) and name.name in mod.values:
        return mod.values[name.name]
    if isinstance(mod, Functor):
        raise _error("not-a-structure", span, f"The module of '{name}' has a parameter, and no "
                     "members before it is applied.", "Apply it: module M = F N")
    known = list(mod.values) if isinstance(mod, Structure) else []
    raise _error("unknown-name", span, f"Unknown variable '{name}'.", *(
        f"Did you mean '{near}'?" for near in difflib.get_close_matches(name.name, known, 1)))


def _find_type(name: ast.QualName, scope: Structure, span: Span) -> ast.QualName:
    if not name.quals:
        if name.name == "t" and "t" not in scope.types and scope.opened:
            return ast.QualName((), scope.opened[-1])
        return scope.types.get(name.name, name)
    mod = _find_module(name.quals, scope, span)
    if isinstance(mod, Builtin) and name.name == "t":
        return ast.QualName((), mod.prim)
    if isinstance(mod, Structure) and name.name in mod.types:
        return mod.types[name.name]
    raise _error("unknown-type", span, f"Unknown type '{name}'.")


# Renaming


def rename(node: T, scope: Structure) -> T:
    """A copy of a piece of syntax in which names are global, as ``scope`` says."""
    if isinstance(node, tuple):
        return tuple(rename(item, scope) for item in node)  # type: ignore[return-value]
    if not isinstance(node, ast.Node):
        return node
    new = _special(node, scope)
    renamed: T = _fields(node, scope) if new is None else new
    return renamed


def _fields(node: Any, scope: Structure, **others: Structure) -> Any:
    """A copy with all fields renamed, those named in ``others`` in scopes of their own."""
    new = ast.duplicate(node)
    for name in ast.parts(type(node)):
        setattr(new, name, rename(getattr(node, name), others.get(name, scope)))
    return new


def _special(node: Any, scope: Structure) -> Any:
    """Nodes with names or binders; None for all others."""
    match node:
        case ast.Name(span, name):
            return ast.Name(span, _find_value(name, scope, span))
        case ast.Project():
            return _projection(node, scope)
        case ast.LocalOpen():
            return _local_open(node, scope)
        case ast.TypeName(span, name):
            new = _fields(node, scope)
            new.name = _find_type(name, scope, span)
            return new
        case ast.BinExp(span, op) | ast.OpSection(span, op):
            new = _fields(node, scope)
            new.op = _find_value(op, scope, span)
            return new
        case ast.ValDec(_, _, _, _, type_params, params):
            inner = _with_params(scope, type_params, params)
            return _fields(node, scope, params=inner, ret=inner, body=inner)
        case ast.TypeDec(_, _, type_params):
            return _fields(node, _with_params(scope, type_params, ()))
        case ast.LambdaExp(_, params):
            inner = scope.hiding(_bound(params))
            return _fields(node, scope, ret=inner, body=inner)
        case ast.LetPat(_, sizes, pattern):
            typed = scope.hiding(size.name for size in sizes)
            return _fields(node, scope, pattern=typed, body=typed.hiding(_bound(pattern)))
        case ast.LetFun(_, name, type_params, params):
            inner = _with_params(scope, type_params, params)
            return _fields(node, scope, params=inner, ret=inner, value=inner,
                           body=scope.hiding([name]))
        case ast.LetWith(_, name):
            return _fields(node, scope, body=scope.hiding([name]))
        case ast.LoopExp():
            return _loop(node, scope)
        case ast.Case(_, pattern):
            return _fields(node, scope, body=scope.hiding(_bound(pattern)))
        case ast.TypeArrow(_, str() as param):
            return _fields(node, scope, codomain=scope.hiding([param]))
        case ast.TypeExists(_, sizes):
            return _fields(node, scope.hiding(sizes))
    return None


def _with_params(scope: Structure, type_params: Iterable[ast.SizeParam | ast.TypeParam],
                 params: Iterable[ast.Pattern]) -> Structure:
    """The scope inside of a function."""
    sizes = [p.name for p in type_params if isinstance(p, ast.SizeParam)]
    types = [p.name for p in type_params if isinstance(p, ast.TypeParam)]
    return scope.hiding([*sizes, *_bound(tuple(params))], types)


def _loop(node: ast.LoopExp, scope: Structure) -> ast.LoopExp:
    typed = scope.hiding(size.name for size in node.sizes)
    inner = typed.hiding(_bound(node.pattern))
    form: Any = rename(node.form, scope)
    if isinstance(node.form, ast.WhileForm):
        form = rename(node.form, inner)
    else:
        inner = inner.hiding(_bound(node.form.pattern))
    new: ast.LoopExp = _fields(node, scope, pattern=typed, body=inner)
    new.form = form
    return new


def _bound(node: object) -> set[str]:
    """The names that patterns bind."""
    match node:
        case ast.PatName(_, name):
            return {name}
        case ast.PatAscript(_, inner):
            return _bound(inner)
        case ast.PatTuple(_, items) | ast.PatConstr(_, _, items):
            return _bound(items)
        case ast.PatRecord(_, fields):
            return {name for _, item in fields for name in _bound(item)}
        case tuple():
            return {name for item in node for name in _bound(item)}
    return set()


def _local_open(node: ast.LocalOpen, scope: Structure) -> ast.Exp:
    """``M.(e)``: the expression in a scope that has the names of the module."""
    mod = _find_module(_module_path(node.module), scope, node.module.span)
    inner = scope.copy()
    if isinstance(mod, Structure):
        inner.add(mod)
        inner.local -= mod.values.keys()
    elif isinstance(mod, Builtin):
        inner.opened += (mod.prim,)
    return rename(node.body, inner)


def _module_path(exp: ast.Exp) -> tuple[str, ...]:
    match exp:
        case ast.Name(_, name):
            return (*name.quals, name.name)
        case ast.Project(_, inner, name):
            return (*_module_path(inner), name)
    raise _error("not-a-module", exp.span, "Only a module can be opened: M.(e).")


def _projection(node: ast.Project, scope: Structure) -> ast.Exp:
    """``M.N.x.f``: modules as far as they go, then a value, then fields."""
    path: list[tuple[str, Span]] = [(node.field_name, node.span)]
    root = node.record
    while isinstance(root, ast.Project):
        path.insert(0, (root.field_name, root.span))
        root = root.record
    if (not isinstance(root, ast.Name) or root.name.name in scope.local
            or (not root.name.quals and root.name.name in scope.values)):
        return _fields(node, scope)  # type: ignore[no-any-return]
    quals = (*root.name.quals, root.name.name)
    if quals[0] not in scope.modules:
        return _fields(node, scope)  # type: ignore[no-any-return]
    mod = _find_module(quals, scope, root.span)
    while len(path) > 1 and isinstance(mod, Structure) and path[0][0] not in mod.values:
        quals = (*quals, path.pop(0)[0])
        mod = _find_module(quals, scope, node.span)
    (name, span), *fields = path
    found: ast.Exp = ast.Name(span, _member_value(mod, ast.QualName(quals, name), span))
    for label, place in fields:
        found = ast.Project(place, found, label)
    return found
