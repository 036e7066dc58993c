"""The built-in functions and their types.

``'a`` in a signature is a type parameter and ``[n]`` a size parameter; they need no binders.
``*t`` in a result shares nothing with the arguments.
``[]t`` in a result is an array whose size only the running program knows; ``?[k].t`` names it.
The elaborator gives each name its meaning (:mod:`runelift.frontend.elaborate.intrinsics`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import permutations

from runelift.ir.prim import FLOATS, INTS, NUMBERS, OPS, SAME_BITS, Prim

TRANSPOSES = {f"transpose_nd_{''.join(map(str, order))}": order
              for rank in (2, 3, 4) for order in permutations(range(rank))}
"""The orders of dimensions in the module ``lift``: dimension k of the result is ``order[k]``."""

LIBRARY_MODULES = {"intrinsics": (
    *(f"flat_{what}_{rank}d" for what in ("index", "update") for rank in (2, 3, 4)),
    "scatter_stream", "hist_stream", "acc_write"),
    "lift": ("slide", "pad", "split", "join", "slide2d", "pad2d", "split_nd_2", "split_nd_3",
             "join_nd_2", "join_nd_3", *TRANSPOSES)}
"""The modules of the library and their values."""

ACCUMULATOR = "intrinsics.acc"
"""The type of accumulators: ``acc ([n]t)``."""


ASSUMED = "?"
"""A value of any type: a member of a module of which only the module type is known."""

_ACC = f"{ACCUMULATOR} ([k]a)"
_WRITER = f"(*{_ACC} -> b -> {_ACC})"



def _sizes(order: Iterable[int]) -> str:
    return "".join(f"[n{k}]" for k in order)


FUNCTIONS: dict[str, str] = {
    # second-order
    "map": "(a -> x) -> [n]a -> *[n]x",
    "map1": "(a -> x) -> [n]a -> *[n]x",
    "map2": "(a -> b -> x) -> [n]a -> [n]b -> *[n]x",
    "map3": "(a -> b -> c -> x) -> [n]a -> [n]b -> [n]c -> *[n]x",
    "map4": "(a -> b -> c -> d -> x) -> [n]a -> [n]b -> [n]c -> [n]d -> *[n]x",
    "map5": "(a -> b -> c -> d -> e -> x) -> [n]a -> [n]b -> [n]c -> [n]d -> [n]e -> *[n]x",
    "reduce": "(a -> a -> a) -> a -> [n]a -> a",
    "reduce_comm": "(a -> a -> a) -> a -> [n]a -> a",
    "scan": "(a -> a -> a) -> a -> [n]a -> *[n]a",
    "filter": "(a -> bool) -> [n]a -> *[]a",
    "partition": "(a -> bool) -> [n]a -> ?[k].([k]a, [n-k]a)",
    "partition2": "(a -> bool) -> (a -> bool) -> [n]a -> ?[k][l].([k]a, [l]a, [n-k-l]a)",
    "flatmap": "(a -> ?[k].([k]b, c)) -> [n]a -> "
               "?[m].(*[n]i64, *[m]bool, *[n]i64, *[m]b, *[n]c)",
    "flatmap'": "(a -> ?[k].[k]b) -> [n]a -> ?[m].(*[n]i64, *[m]bool, *[n]i64, *[m]b)",
    "scatter": "*[k]a -> [n]i64 -> [n]a -> *[k]a",
    "scatter_2d": "*[k][l]a -> [n](i64, i64) -> [n]a -> *[k][l]a",
    "scatter_3d": "*[k][l][m]a -> [n](i64, i64, i64) -> [n]a -> *[k][l][m]a",
    "reduce_by_index": "*[k]a -> (a -> a -> a) -> a -> [n]i64 -> [n]a -> *[k]a",
    **dict.fromkeys(("scatter_stream", "intrinsics.scatter_stream"),
                    f"*[k]a -> {_WRITER} -> [n]b -> *[k]a"),
    **dict.fromkeys(("reduce_by_index_stream", "intrinsics.hist_stream"),
                    f"*[k]a -> (a -> a -> a) -> a -> {_WRITER} -> [n]b -> *[k]a"),
    **dict.fromkeys(("write", "intrinsics.acc_write"), f"*{_ACC} -> i64 -> a -> *{_ACC}"),
    "hist": "(a -> a -> a) -> a -> (k: i64) -> [n]i64 -> [n]a -> *[k]a",
    "tabulate": "(n: i64) -> (i64 -> a) -> *[n]a",
    "tabulate_2d": "(n: i64) -> (m: i64) -> (i64 -> i64 -> a) -> *[n][m]a",
    "tabulate_3d": "(n: i64) -> (m: i64) -> (o: i64) -> (i64 -> i64 -> i64 -> a) -> *[n][m][o]a",
    "all": "(a -> bool) -> [n]a -> bool",
    "any": "(a -> bool) -> [n]a -> bool",
    # derivatives
    "jvp": "(a -> b) -> a -> a -> b",
    "jvp2": "(a -> b) -> a -> a -> (b, b)",
    "vjp": "(a -> b) -> a -> b -> a",
    "vjp2": "(a -> b) -> a -> b -> (b, a)",
    "jmp": "(a -> b) -> a -> [n]a -> [n]b",
    "jmp2": "(a -> b) -> a -> [n]a -> (b, [n]b)",
    "mjp": "(a -> b) -> a -> [n]b -> [n]a",
    "mjp2": "(a -> b) -> a -> [n]b -> (b, [n]a)",
    "with_vjp": "(a -> b) -> (b -> b -> a) -> a -> b",
    "with_vjp_tape": "(a -> (c, b)) -> ((c, b) -> a) -> a -> b",
    # arrays
    "iota": "(n: i64) -> *[n]i64",
    "indices": "[n]a -> *[n]i64",
    "replicate": "(n: i64) -> a -> *[n]a",
    "length": "[n]a -> i64",
    "null": "[n]a -> bool",
    "copy": "a -> *a",
    "head": "[n]a -> a",
    "last": "[n]a -> a",
    "tail": "[n]a -> [n-1]a",
    "init": "[n]a -> [n-1]a",
    "take": "(k: i64) -> [n]a -> [k]a",
    "drop": "(k: i64) -> [n]a -> [n-k]a",
    "reverse": "[n]a -> [n]a",
    "rotate": "i64 -> [n]a -> *[n]a",
    "concat": "[n]a -> [m]a -> *[n+m]a",
    "transpose": "[n][m]a -> [m][n]a",
    "flatten": "[n][m]a -> [n*m]a",
    "flatten_3d": "[n][m][o]a -> [n*m*o]a",
    "flatten_4d": "[n][m][o][p]a -> [n*m*o*p]a",
    "unflatten": "[n*m]a -> [n][m]a",
    "unflatten_3d": "[n*m*o]a -> [n][m][o]a",
    "unflatten_4d": "[n*m*o*p]a -> [n][m][o][p]a",
    "zip": "[n]a -> [n]b -> *[n](a, b)",
    "zip2": "[n]a -> [n]b -> *[n](a, b)",
    "zip3": "[n]a -> [n]b -> [n]c -> *[n](a, b, c)",
    "zip4": "[n]a -> [n]b -> [n]c -> [n]d -> *[n](a, b, c, d)",
    "zip5": "[n]a -> [n]b -> [n]c -> [n]d -> [n]e -> *[n](a, b, c, d, e)",
    "unzip": "[n](a, b) -> ([n]a, [n]b)",
    "unzip2": "[n](a, b) -> ([n]a, [n]b)",
    "unzip3": "[n](a, b, c) -> ([n]a, [n]b, [n]c)",
    "unzip4": "[n](a, b, c, d) -> ([n]a, [n]b, [n]c, [n]d)",
    "unzip5": "[n](a, b, c, d, e) -> ([n]a, [n]b, [n]c, [n]d, [n]e)",
    "and": "[n]bool -> bool",
    "or": "[n]bool -> bool",
    # layouts
    "lift.slide": "(size: i64) -> (step: i64) -> [n]a -> [(n - size) / step + 1][size]a",
    "lift.pad": "(before: i64) -> (after: i64) -> a -> [n]a -> [before + n + after]a",
    "lift.join": "[n][m]a -> [n*m]a",
    "lift.join_nd_2": "[n][m][o]a -> [n*m*o]a",
    "lift.join_nd_3": "[n][m][o][p]a -> [n*m*o*p]a",
    **{f"lift.{name}": f"{_sizes(range(len(order)))}a -> {_sizes(order)}a"
       for name, order in TRANSPOSES.items()},
    # functions
    "id": "a -> a",
    "const": "a -> b -> a",
    "opaque": "a -> a",
    "manifest": "a -> *a",
    "trace": "a -> a",
    "break": "a -> a",
    "flip": "(a -> b -> c) -> b -> a -> c",
    "curry": "((a, b) -> c) -> a -> b -> c",
    "uncurry": "(a -> b -> c) -> (a, b) -> c",
    "not": "bool -> bool",
    ASSUMED: "a",
    # operators that are ordinary functions
    "|>": "a -> (a -> b) -> b",
    "<|": "(a -> b) -> a -> b",
    ">->": "(a -> b) -> (b -> c) -> a -> c",
    "<-<": "(b -> c) -> (a -> b) -> a -> c",
    "++": "[n]a -> [m]a -> *[n+m]a",
}

OPERATORS: dict[str, tuple[str, tuple[Prim, ...], bool]] = {
    "+": ("add", NUMBERS, False), "-": ("sub", NUMBERS, False), "*": ("mul", NUMBERS, False),
    "/": ("div", NUMBERS, False), "%": ("mod", NUMBERS, False), "**": ("pow", NUMBERS, False),
    "//": ("quot", INTS, False), "%%": ("rem", INTS, False),
    "&": ("and", INTS, False), "|": ("or", INTS, False), "^": ("xor", INTS, False),
    "<<": ("shl", INTS, False), ">>": ("shr", INTS, False), ">>>": ("lshr", INTS, False),
    "<": ("lt", tuple(Prim), True), "<=": ("le", tuple(Prim), True),
    ">": ("gt", tuple(Prim), True), ">=": ("ge", tuple(Prim), True),
    "&&": ("and", (Prim.BOOL,), False), "||": ("or", (Prim.BOOL,), False),
}
"""The arithmetic operators: the operation, the types they work on, whether they compare."""

MEMBERS_ONLY = frozenset({">>>"})
"""Operators that programs only know as members of modules: ``i32.>>>``."""

LIFTED = frozenset({ASSUMED, "id", "const", "flip", "curry", "uncurry", "|>", "<|", ">->", "<-<"})
"""Names that may be applied to functions although their type does not say so."""

EQUALITY = ("==", "!=")
"""Operators on values of any first-order type."""


def member(module: str, name: str) -> str | None:
    """The signature of ``module.name``, a member of a built-in module; None if there is none."""
    prim = Prim(module)
    t = module
    if name in {p.value for p in Prim}:
        return f"{name} -> {t}"
    if prim is Prim.BOOL:
        return None
    if name in OPERATORS:
        _, domain, compares = OPERATORS[name]
        return f"{t} -> {t} -> {'bool' if compares else t}" if prim in domain else None
    if name in EQUALITY:
        return f"{t} -> {t} -> bool"
    return members(module).get(name)


@cache
def members(module: str) -> dict[str, str]:
    """The type of each member of a built-in module, by name, without operators and conversions."""
    prim, t = Prim(module), module
    if prim is Prim.BOOL:
        return {}
    found = {
        "sum": f"[n]{t} -> {t}", "product": f"[n]{t} -> {t}",
        "maximum": f"[n]{t} -> {t}", "minimum": f"[n]{t} -> {t}",
        "max": f"{t} -> {t} -> {t}", "min": f"{t} -> {t} -> {t}",
        "abs": f"{t} -> {t}", "sgn": f"{t} -> {t}", "neg": f"{t} -> {t}",
        "highest": t, "lowest": t, "num_bits": "i32", "to_i64": f"{t} -> i64",
        "get_bit": f"i32 -> {t} -> i32", "set_bit": f"i32 -> {t} -> i32 -> {t}",
    }
    if prim.is_int:
        return found | {
            "popc": f"{t} -> i32", "clz": f"{t} -> i32", "ctz": f"{t} -> i32",
            "mul_hi": f"{t} -> {t} -> {t}", "mad_hi": f"{t} -> {t} -> {t} -> {t}",
            "not": f"{t} -> {t}",
        }
    found |= dict.fromkeys(("pi", "e", "inf", "nan", "epsilon"), t)
    found |= dict.fromkeys(("lerp", "fma", "mad"), f"{t} -> {t} -> {t} -> {t}")
    found |= {"from_fraction": f"i64 -> i64 -> {t}", "to_f64": f"{t} -> f64",
              "recip": f"{t} -> {t}",
              "to_bits": f"{t} -> {SAME_BITS[prim]}", "from_bits": f"{SAME_BITS[prim]} -> {t}"}
    found["ldexp"] = f"{t} -> i32 -> {t}"
    for name, row in OPS.items():
        if name not in found and not row.internal and set(row.domain) <= set(FLOATS):
            found[name] = " -> ".join([*[t] * row.arity, "bool" if row.predicate else t])
    return found


def signature(quals: tuple[str, ...], name: str) -> str | None:
    """The signature of a built-in name in source syntax; None if it is not built in."""
    if not quals:
        return FUNCTIONS.get(name)
    if len(quals) == 1 and quals[0] in {p.value for p in Prim}:
        return member(quals[0], name)
    return None
