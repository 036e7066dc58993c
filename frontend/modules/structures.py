"""Names in the module language: what modules are, and what names stand for in them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from runelift.frontend.syntax import ast, module_ast
from runelift.frontend.syntax.layered import Layered
from runelift.frontend.syntax.prelude import (
    ACCUMULATOR,
    EQUALITY,
    LIBRARY_MODULES,
    OPERATORS,
    member,
    signature,
)
from runelift.ir.base.errors import Code, Diagnostic, ProgramError, Replacement, did_you_mean
from runelift.ir.base.source import Span
from runelift.ir.prim import FLOATS, SAME_BITS, Prim

PRIMS = frozenset(prim.value for prim in Prim)


@dataclass(frozen=True, slots=True)
class Builtin:
    """A built-in numeric module: that of ``prim``, such as ``f32``."""

    prim: str


@dataclass(slots=True)
class Structure:
    """The names of a module as seen outside, or of a scope as seen inside.

    ``local`` says of variables of the expressions around whether they hide everything else.
    """

    values: dict[str, ast.QualName] = field(default_factory=dict)
    types: dict[str, ast.QualName] = field(default_factory=dict)
    modules: dict[str, Mod | Unknown] = field(default_factory=dict)
    signatures: dict[str, Signature | Unknown] = field(default_factory=dict)
    opened: tuple[str, ...] = ()
    local: Layered[str, bool] = field(default_factory=Layered)

    def copy(self) -> Structure:
        """A structure that can grow without changing this one."""
        return Structure(dict(self.values), dict(self.types), dict(self.modules),
                         dict(self.signatures), self.opened, self.local)

    def value(self, name: str) -> ast.QualName | None:
        """The variable that a name stands for, also as a member of opened modules."""
        if name in self.values:
            return self.values[name]
        return next((ast.QualName((prim,), name) for prim in reversed(self.opened)
                     if member(prim, name) is not None), None)

    def type(self, name: str) -> ast.QualName | None:
        """The type that a name stands for, also as a member of opened modules."""
        if name in self.types:
            return self.types[name]
        return next((found for prim in reversed(self.opened)
                     if (found := type_member(prim, name)) is not None), None)

    def add(self, other: Structure) -> None:
        """Take in all names of another structure, which hide names that were known before."""
        for prim in other.opened:
            self._hide_members(prim)
        self.values |= other.values
        self.types |= other.types
        self.modules |= other.modules
        self.signatures |= other.signatures
        self.opened += other.opened
        self._uncover(other.values)

    def _hide_members(self, prim: str) -> None:
        """Forget what has the name of a member of a built-in module that is opened."""
        self.values = {k: v for k, v in self.values.items() if member(prim, k) is None}
        self.types = {k: v for k, v in self.types.items() if type_member(prim, k) is None}
        self._uncover([name for name in self.local if member(prim, name) is not None])

    def _uncover(self, names: Iterable[str]) -> None:
        """Let variables from around hide these names no longer."""
        covered = {name: False for name in names if self.local.get(name)}
        if covered:
            self.local = self.local.child()
            self.local.update(covered)

    def add_broken(self, name: str) -> None:
        """Bind a name of a broken declaration, as a value, a type and a module."""
        self.values[name] = self.types[name] = ast.QualName((), broken_name(name))
        self.modules[name] = self.signatures[name] = Unknown()

    def knows(self, name: str) -> bool:
        """True if a name is bound as a value, type, module or module type."""
        return (self.value(name) is not None or self.type(name) is not None
                or name in self.modules or name in self.signatures)

    def hiding(self, values: Iterable[str], types: Iterable[str] = ()) -> Structure:
        """The scope inside of binders of variables and type parameters."""
        gone, local = set(types), self.local.child()
        local.update(dict.fromkeys(values, True))
        kept = {k: v for k, v in self.types.items() if k not in gone} if gone else self.types
        return Structure(self.values, kept, self.modules, self.signatures, self.opened, local)


@dataclass(frozen=True, slots=True)
class Functor:
    """A parametric module: its parameter, its body, and the scope of its declaration."""

    param: str
    sig: module_ast.SigExp
    body: module_ast.ModExp
    scope: Structure


@dataclass(frozen=True, slots=True)
class Unknown:
    """A module or module type whose declaration is broken: what follows from it is no error."""


Mod: TypeAlias = Structure | Functor | Builtin


@dataclass(frozen=True, slots=True)
class Specified:
    """A value or type that a module type lists.

    Names of members that the module type lists before it are symbols (:meth:`Signature.symbols`).
    All other names are global.  ``prims``: the built-in modules that are known to have it.
    """

    spec: module_ast.ValSpec | module_ast.TypeSpec
    prims: tuple[Prim, ...] = ()


@dataclass(frozen=True, slots=True)
class Signature:
    """The members that a module type lists.

    ``arrow``: it is that of modules with a parameter, written in that scope.  ``bodies``: the
    numbers of the lists that it was made of.  ``order``: kinds and names of members as listed.
    """

    values: dict[str, Specified] = field(default_factory=dict)
    types: dict[str, Specified] = field(default_factory=dict)
    modules: dict[str, Signature] = field(default_factory=dict)
    arrow: tuple[module_ast.SigArrow, Structure] | None = None
    bodies: frozenset[int] = frozenset()
    order: tuple[tuple[str, str], ...] = ()

    def refined(self, path: tuple[str, ...], definition: Specified) -> Signature:
        """The module type with a definition for the type at ``path``."""
        name, *rest = path
        if rest:
            inner = self.modules[name].refined(tuple(rest), definition)
            return replace(self, modules={**self.modules, name: inner})
        return replace(self, types={**self.types, name: definition})

    def plus(self, other: Signature) -> Signature:
        """The members that either lists; a type that both list is the same type."""
        return Signature({**self.values, **other.values}, {**other.types, **self.types},
                         {**self.modules, **other.modules}, bodies=self.bodies | other.bodies,
                         order=tuple(dict.fromkeys(self.order + other.order)))

    def abstract(self, name: str) -> str:
        """The abstract type that a type is only another name for, else itself."""
        spec = self.types[name].spec
        if (isinstance(spec, module_ast.TypeSpec) and not spec.type_params
                and isinstance(spec.definition, ast.TypeName)):
            for other in self.types:
                if spec.definition.name.name in (_symbol(other, body) for body in self.bodies):
                    return self.abstract(other)
        return name

    def symbols(self, body: int, path: str = "") -> Structure:
        """A module of names that stand for the members in what list ``body`` says after them.

        A program cannot write such names.  Other module types may include the list, so what they
        stand for is known only where a module gets the type (:meth:`meaning`).
        """
        def each(names: Iterable[str]) -> dict[str, ast.QualName]:
            return {name: ast.QualName((), _symbol(path + name, body)) for name in names}

        return Structure(each(self.values), each(self.types), {
            name: inner.symbols(body, f"{path}{name}.") for name, inner in self.modules.items()})

    def meaning(self, mod: Structure, around: Structure) -> Structure:
        """``around`` with what the symbols of all lists stand for if ``mod`` has this type."""
        found = Structure(dict(around.values), dict(around.types))
        self.add_meaning(mod, found, self.bodies)
        return found

    def add_meaning(self, mod: Structure, table: Structure, bodies: Iterable[int],
                    path: str = "") -> None:
        """Add to ``table`` what the symbols of members that ``mod`` has stand for."""
        for body in bodies:
            for name in self.values:
                if (value := mod.value(name)) is not None:
                    table.values[_symbol(path + name, body)] = value
            for name in self.types:
                if (type_ := mod.type(name)) is not None:
                    table.types[_symbol(path + name, body)] = type_
        for name, sig in self.modules.items():
            inner = mod.modules.get(name)
            if isinstance(inner, Builtin):
                inner = Structure(opened=(inner.prim,))
            if isinstance(inner, Structure):
                sig.add_meaning(inner, table, bodies, f"{path}{name}.")


def broken_name(name: str) -> str:
    """The global name that stands for a broken declaration; a program cannot write it."""
    return f"broken {name}"


def _symbol(path: str, body: int) -> str:
    return f"{path}@{body}"


def with_meaning(scope: Structure, table: Structure) -> Structure:
    """A scope in which names stand for what their symbols do in ``table``."""
    found = scope.copy()
    found.values = {name: table.values.get(value.name, value) for name, value in
                    scope.values.items()}
    found.types = {name: table.types.get(type_.name, type_) for name, type_ in scope.types.items()}
    found.modules = {name: with_meaning(mod, table) if isinstance(mod, Structure) else mod
                     for name, mod in scope.modules.items()}
    return found


def added(what: str, name: str, module: str) -> str:
    """The hint to add a member to a module; the module of a type has no place for it."""
    new = f"{'def' if what == 'value' else what} {name} = ..."
    if module in PRIMS:
        return f"Write a module that has it: {{ type t = {module} {new} }}"
    return f"Add it: {new}"


def not_shipped(path: str, span: Span, names: Sequence[str]) -> ProgramError:
    """An error: none of the shipped files has this path."""
    near = difflib.get_close_matches(path.removesuffix(".fut"), names, n=1)
    return wrong("missing-import", span, f"There is no file '{path}'.",
                 *[Replacement(f'Write import "{each}".', f'import "{each}"') for each in near],
                 f"Shipped are {', '.join(names)}.")


def wrong(code: Code, span: Span, message: str, *hints: str) -> ProgramError:
    """An error of the user, to be raised."""
    return ProgramError(Diagnostic(code, span, message, hints=hints))


# Names


def type_member(prim: str, name: str) -> ast.QualName | None:
    """The meaning of type ``name`` of a built-in module; None if the module has no such type."""
    if name == "t":
        return ast.QualName((), prim)
    if name == "int_t" and Prim(prim) in FLOATS:
        return ast.QualName((), SAME_BITS[Prim(prim)].value)
    return None


MOST_MEMBERS = 16
"""The most members of a module that a hint names."""


def is_predefined(name: str) -> bool:
    """True if every program has a value, type or module of this name."""
    return (name in PRIMS or name in LIBRARY_MODULES or name in OPERATORS or name in EQUALITY
            or name in ("acc", "&&", "||") or signature((), name) is not None)


def find_module(path: tuple[str, ...], scope: Structure, span: Span) -> Mod:
    """The module that a path of names leads to from ``scope``."""
    mod: Mod = scope
    for k, part in enumerate(path):
        inner = mod.modules.get(part) if isinstance(mod, Structure) else None
        if inner is None and k == 0 and part in PRIMS:
            inner = Builtin(part)
        if inner is None and k == 0 and part in LIBRARY_MODULES:
            inner = Structure({name: ast.QualName((), f"{part}.{name}")
                               for name in LIBRARY_MODULES[part]},
                              {"acc": ast.QualName((), ACCUMULATOR)})
        if inner is None:
            near = difflib.get_close_matches(part, mod.modules, 1) if isinstance(
                mod, Structure) else []
            raise wrong("unknown-module", span, f"Unknown module '{'.'.join(path[:k + 1])}'.",
                        *_broadcast(span, is_local=k == 0 and bool(scope.local.get(part))),
                        *_braces(part, span), *(
                            did_you_mean(n, span, ".".join(path[:k + 1]), ".".join((*path[:k], n)))
                            for n in near))
        mod = known(inner)
    return mod


def _broadcast(span: Span, *, is_local: bool) -> list[str]:
    """The hint for ``f.(xs)`` or ``xs.(i)``, where ``span`` has the name; none for other text.

    ``is_local``: the name is one of a parameter or the like.
    """
    found = re.compile(r"\.\(([^()\n]*)\)").match(span.source.text, span.end)
    if found is None:
        return []
    whole = Span(span.source, span.start, found.end())
    if is_local or found[1].isdigit():
        new = f"{span.text}[{found[1]}]"
        return [Replacement(f"An element is written: {new}", new, whole)]
    plain = found[1].replace(".", "").replace("_", "").isalnum()
    new = f"map {span.text} {found[1] if plain else f'({found[1]})'}"
    return [Replacement(f"A function of each element is mapped: {new}", f"({new})", whole)]


def _braces(word: str, span: Span) -> list[str]:
    """The hint for ``struct ... end`` or the like; none for another word."""
    if word not in ("struct", "sig"):
        return []
    hint = "A module stands in braces: module m = { ... }"
    found = re.compile(r"(\s(?:(?!\bstruct\b)[\s\S])*?)\bend\b").match(span.source.text, span.end)
    return [hint if found is None else Replacement(
        hint, f"{{{found[1]}}}", Span(span.source, span.start, found.end()))]


def known(mod: Mod | Unknown) -> Mod:
    """A module; ProgramError without text if its declaration is broken."""
    if isinstance(mod, Unknown):
        raise ProgramError()
    return mod


def find_signature(name: ast.QualName, scope: Structure, span: Span) -> Signature:
    """The module type of a name."""
    around = find_module(name.quals, scope, span) if name.quals else scope
    if isinstance(around, Structure) and name.name in around.signatures:
        found = around.signatures[name.name]
        if isinstance(found, Unknown):
            raise ProgramError()
        return found
    listed = around.signatures if isinstance(around, Structure) else ()
    near = difflib.get_close_matches(name.name, listed, 1)
    raise wrong("unknown-module-type", span, f"Unknown module type '{name}'.",
                *(did_you_mean(n, span, str(name), str(ast.QualName(name.quals, n)))
                  for n in near))


def find_value(name: ast.QualName, scope: Structure, span: Span) -> ast.QualName:
    """The global name of a variable; itself if it is not defined in a module."""
    if name.quals:
        return member_value(find_module(name.quals, scope, span), name, span)
    if scope.local.get(name.name):
        return name
    return scope.value(name.name) or name


def member_value(mod: Mod, name: ast.QualName, span: Span) -> ast.QualName:
    """The global name of a member of a module."""
    if isinstance(mod, Builtin):
        return ast.QualName((mod.prim,), name.name)
    if isinstance(mod, Structure) and (found := mod.value(name.name)) is not None:
        return found
    if isinstance(mod, Functor):
        raise wrong("not-a-structure", span, f"The module of '{name}' is parametric: it has no "
                    "members before it is applied.", "Apply it: module M = F N")
    members = list(mod.values) if isinstance(mod, Structure) else []
    inner = [".".join((*name.quals, owner, name.name)) for owner, each in (
        mod.modules.items() if isinstance(mod, Structure) else ())
        if isinstance(each, Structure) and each.value(name.name) is not None]
    near = difflib.get_close_matches(name.name, members, 1)
    shown = ", ".join([*members[:MOST_MEMBERS], *["..."] * (len(members) > MOST_MEMBERS)])
    raise wrong("unknown-name", span, f"Unknown variable '{name}'.",
                did_you_mean(inner[0], span, str(name)) if inner else
                did_you_mean(near[0], span, str(name), str(ast.QualName(name.quals, near[0])))
                if near else f"The module has {shown or 'no variables'}.")


def find_type(name: ast.QualName, scope: Structure, span: Span) -> ast.QualName:
    """The global name of a type; itself if it is not defined in a module."""
    if not name.quals:
        return scope.type(name.name) or name
    mod = find_module(name.quals, scope, span)
    found = (type_member(mod.prim, name.name) if isinstance(mod, Builtin) else
             mod.type(name.name) if isinstance(mod, Structure) else None)
    if found is not None:
        return found
    raise wrong("unknown-type", span, f"Unknown type '{name}'.")
