"""Loops to unroll.

A parameter sets the factor for loops of unknown length.  Loops around the elements of small private
arrays are unrolled completely, unless the code grows too much.  Compilers keep an array in
registers only if all its indices are constants.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from runelift.ir import imp
from runelift.ir.imp import Exp, Stm
from runelift.ir.imp.dependence import assigned
from runelift.ir.imp.traverse import (
    blocks,
    expressions,
    map_blocks,
    statements,
    subexpressions,
    variables,
)
from runelift.ir.meaning import apply
from runelift.ir.names import VName
from runelift.ir.prim import Prim

MOST_BODY_STATEMENTS = 64
"""Loops with more statements are long enough without unrolling."""
MOST_ARRAY_LENGTH = 64
"""Longer arrays are not kept in registers."""
MOST_UNROLLED_STATEMENTS = 1 << 12
"""The most statements that complete unrolling may make in a kernel."""


def has_loops(code: Sequence[Stm], constants: Collection[VName]) -> bool:
    """True if there are loops to unroll."""
    return any(_qualifies(stm, constants) for stm in statements(code))


def with_unroll_factor(name: VName, code: Sequence[Stm], constants: Collection[VName]) -> list[Stm]:
    """The code with these loops unrolled by the factor ``name``."""
    return [replace(stm, unroll=name) if isinstance(stm, imp.For) and _qualifies(stm, constants)
            else map_blocks(stm, lambda block: with_unroll_factor(name, block, constants))
            for stm in code]


def _qualifies(stm: Stm, constants: Collection[VName]) -> bool:
    """True for a short innermost loop of unknown length."""
    if not isinstance(stm, imp.For) or stm.unroll or isinstance(stm.bound, imp.Lit) or (
            isinstance(stm.bound, imp.Var) and stm.bound.name in constants):
        return False
    inside = list(statements(stm.body))
    return len(inside) <= MOST_BODY_STATEMENTS and not any(
        isinstance(s, imp.For | imp.While | imp.Barrier | imp.AtomicUpdate | imp.Locked)
        for s in inside)


def unroll_private_arrays(code: Sequence[Stm]) -> list[Stm]:
    """The code with complete unrolling of loops that compute indices of short private arrays.

    The bounds of such loops are constants or indices of loops around them.  An array with other
    indices as well gains nothing.
    """
    inside = statements(code)
    loops = {stm.index: stm for stm in inside if isinstance(stm, imp.For)}
    wanted = {stm.name: set[VName]() for stm in inside if isinstance(stm, imp.DeclareArray)
              and isinstance(stm.length, int) and 1 < stm.length <= MOST_ARRAY_LENGTH}
    if not wanted:
        return list(code)
    for mem, index in _accesses(inside):
        if mem in wanted:
            indices = _indices(index, loops)
            if indices is None:
                del wanted[mem]
            else:
                wanted[mem] |= indices
    unrolled = set[VName]().union(*wanted.values())
    if not unrolled or _size(code, unrolled, {}, MOST_UNROLLED_STATEMENTS) is None:
        return list(code)
    return [_whole(unrolled, stm) for stm in code]


def arrays_in_memory(kernel: imp.Kernel) -> frozenset[VName]:
    """The private arrays of which an index is known only when the kernel runs.

    Other indices follow from constants of the build, and from loops whose bounds do.  Compilers
    unroll such loops, and may keep these arrays in registers.
    """
    inside = statements(kernel.body)
    own = {stm.name for stm in inside if isinstance(stm, imp.DeclareArray)}
    known, changed = set(kernel.constants), assigned(kernel.body)

    def follows(*exps: Exp) -> bool:
        return all(isinstance(each, imp.Lit | imp.Apply | imp.Convert | imp.Select)
                   or (isinstance(each, imp.Var) and each.name in known)
                   for each in subexpressions(*exps))

    for stm in inside:  # each variable before its uses
        match stm:
            case imp.For(index, start, bound, step) if follows(start, bound, step):
                known.add(index)
            case imp.Declare(name, _, init) if (init is not None and name not in changed
                                                and follows(init)):
                known.add(name)
    return frozenset(mem for mem, index in _accesses(inside) if mem in own and not follows(index))


def _accesses(inside: Sequence[Stm]) -> Iterator[tuple[VName, Exp]]:
    """The memories that statements access, and the indices."""
    for stm in inside:
        if isinstance(stm, imp.Store | imp.Atomic | imp.AtomicUpdate | imp.Peek):
            yield stm.mem, stm.index
        for part in subexpressions(*expressions(stm)):
            if isinstance(part, imp.Load):
                yield part.mem, part.index


def _indices(exp: Exp, loops: Mapping[VName, imp.For]) -> set[VName] | None:
    """The loops from whose indices a number follows; None if it depends on anything else."""
    found = set[VName]()
    for part in subexpressions(exp):
        match part:
            case imp.Lit() | imp.Apply(("add" | "sub" | "mul"), Prim.I64):
                continue
            case imp.Var(name) if name in loops:
                around = loops[name]
                if any(isinstance(s, imp.Barrier | imp.Shuffle) for s in statements(around.body)):
                    return None
                limits = [_indices(e, loops) for e in (around.start, around.bound, around.step)]
                if None in limits:
                    return None
                found |= {name}.union(*(each for each in limits if each))
            case _:
                return None
    return found


def _size(code: Sequence[Stm], unrolled: Collection[VName], known: Mapping[VName, int],
          most: int) -> int | None:
    """The number of statements with loops unrolled; None if more than ``most``."""
    total = 0
    for stm in code:
        total += 1
        if isinstance(stm, imp.For) and stm.index in unrolled:
            start, bound, step = (_value(e, known) for e in (stm.start, stm.bound, stm.step))
            points: Sequence[Mapping[VName, int]] = [
                {**known, stm.index: at} for at in range(start, min(bound, start + most), step)]
        else:
            points = [known]
        for point in points:
            for block in blocks(stm):
                more = _size(block, unrolled, point, most - total)
                if more is None:
                    return None
                total += more
        if total > most:
            return None
    return total


def _value(exp: Exp, known: Mapping[VName, int]) -> int:
    """A number that follows from ``known`` numbers."""
    match exp:
        case imp.Var(name):
            return known[name]
        case imp.Apply(op, prim, args):
            return int(apply(op, prim, *(_value(arg, known) for arg in args)))
        case imp.Lit(const):
            return int(const.value)
    raise AssertionError(exp)


def _whole(unrolled: Collection[VName], stm: Stm) -> Stm:
    stm = map_blocks(stm, lambda block: (_whole(unrolled, each) for each in block))
    return replace(stm, unroll=stm.unroll or stm.index in unrolled) if isinstance(
        stm, imp.For) else stm


def splits_into_pieces(loop: imp.For, kernel: imp.Kernel) -> bool:
    """True if compilers may optimise each iteration of an unrolled loop separately.

    All its accesses are to private arrays, which are in registers by then, or to global memory,
    each iteration elsewhere.  It pays around unrolled loops that run up to the index of this one.
    Together they are long, and compile time grows with the square of the length.
    """
    inside = statements(loop.body)
    if not any(isinstance(stm, imp.For) and stm.unroll is True
               and loop.index in variables(stm.bound) for stm in inside):
        return False
    own = {stm.name for stm in statements(kernel.body) if isinstance(stm, imp.DeclareArray)}
    shared = {param.name for param in kernel.params}
    return all(mem in own or (mem in shared and loop.index in variables(place))
               for mem, place in _accesses(inside))
