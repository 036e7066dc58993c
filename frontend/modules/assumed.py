"""Modules of which only the module type is known, to check parametric modules once and for all.

Its abstract types are hidden, its values have the specified types and no meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from runelift.frontend.modules.sealing import Sealing
from runelift.frontend.modules.structures import Mod, Signature, Structure
from runelift.frontend.syntax import ast, module_ast
from runelift.frontend.syntax.parser import parse
from runelift.frontend.syntax.prelude import ASSUMED, EQUALITY, OPERATORS, member, members
from runelift.ir.base.source import Source
from runelift.ir.prim import FLOATS, INTS, NUMBERS, SCALARS, Prim

OF_BITS = ("from_bits", "to_bits", "num_bits", "get_bit", "set_bit", "epsilon", "nextafter",
           "ldexp", "copysign")
"""The functions on floats that only the module type ``float`` has."""

MODELS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "from_prim": (("bool", "i16", "f32"), (*OPERATORS, *EQUALITY)),
    "numeric": (("i16", "i8", "f32", "f64"), ("num_bits", "get_bit", "set_bit")),
    "integral": (("i16", "i8"), ()),
    "real": (("f32", "f64"), OF_BITS),
    "float": (("f32", "f64"), ()),
}
"""A module type of the prelude lists what all these modules have, except for some names."""

HAVING: dict[str, tuple[Prim, ...]] = {
    "from_prim": SCALARS, "numeric": NUMBERS, "integral": INTS, "real": FLOATS, "float": FLOATS}
"""The module types of the prelude, and the built-in modules that have them."""


def is_parametric(sig: Signature) -> bool:
    """True if a module type is one of modules with parameters, or has such inside."""
    return sig.arrow is not None or any(map(is_parametric, sig.modules.values()))


def assumed(sig: Signature, prefix: str, fresh: Callable[[str], str],
            emit: Callable[[ast.CoreDec], None]) -> Mod:
    """A module of the type ``sig``, whose members are called after ``prefix``.

    ``fresh`` makes names, ``emit`` takes declarations.
    """
    plain = _plain(sig, prefix, fresh, emit)
    return Sealing(fresh, emit, whole=True).seal(plain, sig, prefix, Structure())


def _plain(sig: Signature, prefix: str, fresh: Callable[[str], str],
           emit: Callable[[ast.CoreDec], None]) -> Structure:
    """A module with some value for each that ``sig`` lists, and types with the same sizes."""
    found = Structure({name: ast.QualName((), ASSUMED) for name in sig.values})
    for name, specified in sig.types.items():
        spec = specified.spec
        assert isinstance(spec, module_ast.TypeSpec)
        unit = ast.TypeTuple(spec.span, ())
        sizes = [ast.Name(p.span, ast.QualName((), p.name)) for p in spec.type_params
                 if isinstance(p, ast.SizeParam)]
        arrays = tuple(ast.TypeArray(size.span, size, unit) for size in sizes)
        found.types[name] = ast.QualName((), fresh(prefix + name))
        emit(ast.TypeDec(spec.span, found.types[name].name, spec.type_params,
                         ast.TypeTuple(spec.span, arrays), spec.kind))
    found.modules = {name: _plain(inner, f"{prefix}{name}.", fresh, emit)
                     for name, inner in sig.modules.items()}
    return found


@cache
def prelude_signature(name: str) -> module_ast.SigExp:
    """A module type of the prelude."""
    models, left_out = MODELS[name]
    names = [*OPERATORS, *EQUALITY, *(prim.value for prim in Prim), *members(models[0])]
    types = {each: [member(model, each) for model in models] for each in names
             if each not in left_out}
    values = "".join(f"val {_definable(each)} {_abstract(found, models)}\n"
                     for each, found in types.items() if None not in found)
    text = f"module type {name} = {{ type t  {'type int_t' * (name == 'float')}\n{values}}}"
    (dec,) = parse(Source("prelude", text)).decs
    assert isinstance(dec, module_ast.SigDec)
    return dec.sig


def _definable(name: str) -> str:
    return name if name[0].isalpha() else f"({name})"


def _abstract(types: list[str | None], models: tuple[str, ...]) -> str:
    """The common type of a member in all modules, with ``t`` for the modules' types."""
    columns = zip(*(type_.replace("]", "] ").split() for type_ in types if type_), strict=True)
    words = [each[0] if len(set(each)) == 1 else
             "t" if each == models else "int_t" for each in columns]
    sizes = '[n] ' if '[n]' in words else ''
    return f"{sizes}: {' '.join(words)}"
