"""The prelude: functions that kernels call and OpenCL C lacks, from pieces of ``prelude.cl``.

All pieces together take compilers as long as a small kernel or longer.  So each program is linked
from the pieces that it mentions.  Functions are named after the types of the language;
:data:`TYPES` maps these to types of C.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template

from runelift.ir.prim import FLOATS, INTS, SIGNED, Prim

TYPES = {
    Prim.I8: "char", Prim.I16: "short", Prim.I32: "int", Prim.I64: "long",
    Prim.U8: "uchar", Prim.U16: "ushort", Prim.U32: "uint", Prim.U64: "ulong",
    Prim.F16: "float", Prim.F32: "float", Prim.F64: "double", Prim.BOOL: "uchar",
}
"""The types of values.  An f16 is a float that is equal to some f16."""
STORED = TYPES | {Prim.F16: "ushort"}
"""The types of elements of memory.  An f16 is there by its bits."""
FAMILY_MARK = "//// "
"""A line that begins like this names the family of types of the templates after it."""
C_FUNCTIONS = {
    "OF_ONE": ("ceil", "cos", "exp", "fabs", "floor", "log", "log10", "log2", "rint", "sin", "sqrt",
               "trunc"),
    "OF_TWO": ("copysign", "pow")}
"""Functions that processors have from the C library, by their number of arguments."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_DEFINED = re.compile(r"^#define (\w+)|^inline [^(]+?(\w+)\(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of the prelude, the names that it defines, and all words of it."""

    text: str
    defines: frozenset[str]
    words: frozenset[str]


def linked(kernels: str) -> str:
    """The text of a program: these kernels, after the pieces that they need."""
    wanted, found = set(_WORD.findall(kernels)), [kernels]
    for piece in reversed(pieces()):
        if not piece.defines or not wanted.isdisjoint(piece.defines):
            wanted |= piece.words
            found.append(piece.text)
    return "\n".join(reversed(found))


@cache
def pieces() -> Sequence[_Piece]:
    """All pieces, each after the pieces that it needs."""
    found, members = list[_Piece](), _families()["ALL"]
    file = resources.files("runelift.codegen.emit") / "prelude.cl"
    for part in file.read_text("utf-8").split("\n\n"):
        if part.startswith(FAMILY_MARK):
            members = _families()[part.removeprefix(FAMILY_MARK)]
            continue
        code = "\n".join(line for line in part.splitlines() if not line.startswith("//"))
        for member in members if code else ():
            text = Template(code).substitute(member)
            defines = {name for names in _DEFINED.findall(text) for name in names if name}
            found.append(_Piece(text, frozenset(defines), frozenset(_WORD.findall(text))))
    return found


@cache
def _families() -> Mapping[str, Sequence[Mapping[str, str]]]:
    """The members of each family, with values for the names in templates."""
    return {
        "ALL": [{}],
        "SIGNED": [_integer(prim) for prim in SIGNED],
        "UNSIGNED": [_integer(prim) for prim in INTS if prim.is_unsigned],
        "INTEGER": [_integer(prim) for prim in INTS],
        "FLOAT": [{"NAME": prim.value, "T": TYPES[prim]} for prim in FLOATS
                  if STORED[prim] == TYPES[prim]],
        **{family: [{"F": name} for name in names] for family, names in C_FUNCTIONS.items()},
    }


def _integer(prim: Prim) -> Mapping[str, str]:
    """Values for the names in templates for an integer type.

    ``U`` is the unsigned type of ``BITS`` bits.  ``SHORT`` is true if half of them are enough, so
    that a division is quicker.  Floats are converted to ``SIGNED`` first, from ``LEAST`` on and
    below ``LIMIT``.  These are all values of the type.  For u64 they are only the values ``NEAR``
    0.
    """
    signed = Prim.I32 if prim.greatest <= Prim.I32.greatest else Prim.I64
    return {"NAME": prim.value, "T": TYPES[prim], "U": TYPES[Prim(f"u{prim.bits}")],
            "BITS": str(prim.bits), "SHORT": "ARE_SHORT(x, y)" if prim.bits == 64 else "0",
            "NEAR": f"{'near_' * (prim is Prim.U64)}{prim.value}",
            "SIGNED": TYPES[signed], "LEAST": f"{TYPES[signed].upper()}_MIN",
            "LIMIT": f"0x1p{signed.bits - 1}"}
