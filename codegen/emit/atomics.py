"""Atomic updates and locks as OpenCL C.

Source: NVIDIA, CUDA C++ Programming Guide, section "Atomic Functions".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from runelift.codegen.emit.prelude import STORED, TYPES
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.prim import Prim

INDENT = " "
"""The indentation of a block; deep blocks are most of the text otherwise."""


class Writer(Protocol):
    """The writer of the rest of a kernel."""

    def name(self, vname: VName) -> str:
        """The name of a variable in C."""

    def number(self, base: str) -> int:
        """A number that makes a name with this base a new one."""

    def index(self, exp: Exp) -> str:
        """An index as C text."""

    def exp(self, exp: Exp) -> str:
        """An expression as C text."""


def atomic(writer: Writer, stm: imp.Atomic) -> str:
    """The C lines of an atomic instruction."""
    prim = stm.prim
    held = f"{TYPES[prim]} {writer.name(stm.old)} = " if stm.old is not None else ""
    word = f"atomic_add_{prim}" if prim.is_float else (
        f"{'atom' if prim.bits == 64 else 'atomic'}_{stm.op}")
    place = f"&{writer.name(stm.mem)}[{writer.index(stm.index)}]"
    return (f"{held}{word}((volatile __{stm.space.value} {TYPES[prim]} *){place}, "
            f"{writer.exp(stm.value)});")


def swapped(writer: Writer, stm: imp.AtomicUpdate, pad: str, body: Sequence[str]) -> list[str]:
    """A compare-and-swap loop on the word of an element; a word that stays equal is not written."""
    inner, prim = pad + INDENT, stm.prim
    bits, swap = ("long", "atom") if prim.bits == 64 else ("int", "atomic")
    seen, found, word, shift, new = (f"{each}_{writer.name(stm.old)}" for each in (
        "seen", "found", "word", "shift", "new"))
    place, cells = writer.index(stm.index), f"volatile __{stm.space.value} {bits} *"
    lines, before, stored = list[str](), seen, new
    if prim.bits < 32:
        per = 32 // prim.bits
        lines.append(f"{pad}const int {shift} = (int)({place} & {per - 1}) * {prim.bits};")
        place = f"{place} >> {per.bit_length() - 1}"
        before = f"({STORED[prim]})({seen} >> {shift})"
        stored = (f"({seen} & ~({(1 << prim.bits) - 1} << {shift}) "
                  f"| ({new} & {(1 << prim.bits) - 1}) << {shift})")
    value = f"({TYPES[prim]})({writer.exp(stm.new)})"
    if prim is Prim.F16:
        before, value = f"f16_of_bits({before})", f"bits_of_f16({value})"
    elif prim.bits >= 32:
        before, value = f"as_{TYPES[prim]}({before})", f"as_{bits}({value})"
    return [
        *lines,
        f"{pad}{cells}{word} = ({cells}){writer.name(stm.mem)} + ({place});",
        f"{pad}{bits} {seen}, {found} = GLANCE_{bits}({word});",
        f"{pad}do {{",
        f"{inner}{seen} = {found};",
        f"{inner}{TYPES[prim]} {writer.name(stm.old)} = {before};",
        *body,
        f"{inner}const {bits} {new} = {value};",
        f"{inner}if ({stored} == {seen}) break;",
        f"{inner}{found} = {swap}_cmpxchg({word}, {seen}, {stored});",
        f"{pad}}} while ({found} != {seen});",
    ]


def locked(writer: Writer, stm: imp.Locked, pad: str, body: Sequence[str]) -> list[str]:
    """A loop in which a work-item with the lock does all before it tries again.

    So it also ends where work-items run in lockstep: one that waits keeps none from going on.
    """
    inner, within, space = pad + INDENT, pad + 2 * INDENT, stm.space.value
    lock, waits = (f"{each}_{writer.number(each)}" for each in ("lock", "waits"))
    fence = ("fence_device();" if stm.space is imp.Space.GLOBAL
             else "mem_fence(CLK_LOCAL_MEM_FENCE);")
    return [
        f"{pad}volatile __{space} int *{lock} = (volatile __{space} int *)"
        f"&{writer.name(stm.locks)}[{writer.index(stm.index)}];",
        f"{pad}for (int {waits} = 1; {waits};) {{",
        f"{inner}if (atomic_xchg({lock}, 1) == 0) {{",
        f"{within}{fence}",
        *body,
        f"{within}{fence}",
        f"{within}atomic_xchg({lock}, 0);",
        f"{within}{waits} = 0;",
        f"{inner}}}",
        f"{pad}}}"]
