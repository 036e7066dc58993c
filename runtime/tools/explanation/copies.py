"""The arrays that kernels copy to local memory, read from the kernels themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy

from runelift.codegen.hostplan.host import plan_fun
from runelift.codegen.plan.plan import kernels
from runelift.ir import imp
from runelift.ir.imp.traverse import memories, statements, variables
from runelift.ir.names import Names, VName
from runelift.ir.syntax import Body, Program, Stm
from runelift.ir.traverse import statements_inside
from runelift.rewrite.flattening import derive
from runelift.rewrite.pipeline import clean

BLOCKED = ("segmap_tiled", "segmap_coarse", "segred_coarse")
"""The beginnings of the names of kernels whose work-items have blocks of points."""


def blocked_kernels(program: Program, names: Names, policy: str) -> list[imp.Kernel]:
    """The kernels for blocks of points of an optimised program, as graphics processors get them."""
    own = copy(names)
    flat, _ = derive(program, own, policy=policy)
    found = clean(flat, own)
    return [kernel for fun in found.funs
            for kernel in kernels(plan_fun(fun, own, interleave=True, coherent=True).steps)
            if kernel.name.startswith(BLOCKED)]


def kernels_of(found: Iterable[imp.Kernel], nest: Stm) -> list[imp.Kernel]:
    """The kernels of a nest: an operation has the place of one of its loops."""
    places = tuple(f" at {stm.loc}" for stm in statements_inside([Body((nest,), ())]))
    return [each for each in found if each.comment.endswith(places)]


def copied(kernel: imp.Kernel) -> list[str]:
    """The arrays of global memory of which a kernel copies elements to local memory.

    >>> from runelift.ir.prim import Prim
    >>> xs, at, box = (VName(name, k) for k, name in enumerate(("xs", "at", "box")))
    >>> copied(imp.Kernel("k", (imp.BufferParam(xs, Prim.F32, False),), (
    ...     imp.LocalArray(box, Prim.F32, 4),), (
    ...     imp.Declare(at, Prim.F32, imp.Load(xs, imp.Var(at), Prim.F32)),
    ...     imp.Store(box, imp.Var(at), imp.Var(at), Prim.F32))))
    ['xs']
    """
    local = {array.name for array in kernel.locals}
    buffers = {p.name for p in kernel.params if isinstance(p, imp.BufferParam)}
    sources = _sources(kernel.body, local)
    return sorted({name.base for stm in statements(kernel.body)
                   if isinstance(stm, imp.Store) and stm.mem in local
                   for name in _origins(_read(stm.value), sources) if name in buffers})


def _sources(code: Iterable[imp.Stm], local: set[VName]) -> Mapping[VName, set[VName]]:
    """The memories and variables that each variable and private array has its values from.

    Sums are no copies: what is computed from itself has none.
    """
    found = dict[VName, set[VName]]()
    for stm in statements(code):
        match stm:
            case imp.Declare(name, _, value) | imp.Assign(name, value) if value is not None:
                found.setdefault(name, set()).update(_read(value))
            case imp.Store(mem, _, value) if mem not in local:
                found.setdefault(mem, set()).update(_read(value))
    return {name: own for name, own in found.items() if name not in _origins(own, found)}


def _read(exp: imp.Exp) -> Iterator[VName]:
    """The memories that an expression loads from, and its variables that are no indices."""
    match exp:
        case imp.Load(mem):
            yield mem
        case imp.Select(_, then_, else_):
            yield from (*_read(then_), *_read(else_))
        case _:
            yield from (*memories(exp), *variables(exp))


def _origins(names: Iterable[VName], sources: Mapping[VName, set[VName]]) -> set[VName]:
    """These names, and all that their values come from."""
    seen, left = set[VName](), [*names]
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            left += sources.get(name, ())
    return seen
