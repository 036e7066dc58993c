"""Directives for loops: which of them a compiler should unroll, and which it must not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.traverse import statements
from runelift.ir.meaning import apply
from runelift.ir.names import VName
from runelift.ir.prim import Prim

MOST_UNROLLED_ITERATIONS = 64
"""Loops of at most this many iterations are unrolled completely if the kernel asks for it."""
UNROLL_FULLY = "#pragma unroll"
"""The directive for complete unrolling."""
MOST_PLAIN_STATEMENTS = 24
"""Loops of at most this many simple statements are partly unrolled on devices that gain by it."""


class LoopDirectives:
    """The directives for the loops of a kernel; ``constant`` knows what is known at its build.

    No loop is unrolled by a set factor where there are while loops: PoCL 3 miscompiles that.
    """

    def __init__(self, kernel: imp.Kernel, constants: Mapping[VName, int],
                 constant: Callable[[Exp], int | None]) -> None:
        self._constants, self._constant = constants, constant
        self._repeats = any(isinstance(stm, imp.While) for stm in statements(kernel.body))

    def of(self, loop: imp.For) -> list[str]:
        """The directives before a loop that is to be unrolled."""
        if isinstance(loop.unroll, VName):
            times = self._constants[loop.unroll]
            if times and not self._repeats:
                return [f"#pragma unroll {times}"]
            if any(isinstance(stm, imp.For) for stm in loop.body):  # over lanes, all unrolled
                return ["PARTLY_UNROLLED" if self.bound(loop.bound) is None
                        else "LARGELY_UNROLLED"]
        elif loop.unroll and (self.bound(loop.bound) or 0) <= MOST_UNROLLED_ITERATIONS:
            return [UNROLL_FULLY]
        return ["PARTLY_UNROLLED"] if self._is_plain(loop.bound, loop.body) else []

    def bound(self, exp: Exp) -> int | None:
        """The value of a bound that is made of constants."""
        match exp:
            case imp.Var(v):
                return self._constants.get(v)
            case imp.Apply("add" | "sub" | "mul" | "quot" | "rem" as op, Prim.I64, args):
                values = [self.bound(arg) for arg in args]
                return None if None in values else int(apply(op, Prim.I64, *values))
        return self._constant(exp)

    def _is_plain(self, bound: Exp, body: Sequence[Stm]) -> bool:
        """True for a loop of unknown length with a few simple statements."""
        known = isinstance(bound, imp.Lit) or (isinstance(bound, imp.Var)
                                               and bound.name in self._constants)
        return not known and len(body) <= MOST_PLAIN_STATEMENTS and all(
            isinstance(stm, imp.Declare | imp.Assign | imp.Store) for stm in body)
