"""Facts about the lengths of segments, which guards need: one pass over the lengths.

Kernel ``length_facts``: work-items go through the lengths in strides, and keep totals in registers.
The last group to finish combines the facts of all groups, if the device shows it the writes of
other groups.  Otherwise a second launch does (``length_facts_final``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import combine
from runelift.codegen.kernel.launch_builder import GROUP_COUNT, GROUP_ID, LID, LSIZE
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.accesses import IS_FIRST
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import all_of, lit, op
from runelift.codegen.segops.ragged import length_of
from runelift.codegen.segops.segred import combine_partials, if_last_group, total_of_group
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import Names, VName
from runelift.ir.operators import limited_sum, one_operation, side_by_side
from runelift.ir.prim import Prim
from runelift.ir.ragged import MOST_ELEMENTS, Fact
from runelift.ir.sizes import Size, ceil_div, greatest, least
from runelift.ir.syntax import Operator, SegMap
from runelift.ir.types import i64

LENGTHS_PER_ITEM = 4
"""The least lengths of a work-item for which there is a further group."""
SPARE = 4
"""A part of the usual groups is enough: the last of them combines the facts of all groups."""
LENGTHS_PER_CORE = 8192
"""The least lengths for which a processor gets a further work-item."""


def lower_facts(lowering: launches.Lowering, lengths: VName, segments: Size,
                checks: SegMap | None = None) -> None:
    """Add the kernels that write the facts about ``lengths`` to the only result, a [4]i64.

    The first kernel also makes ``checks`` at each segment, so that they cost no launch.
    """
    most = ceil_div(lowering.groups, Size.of(SPARE)) if lowering.interleave else lowering.groups
    share = lowering.group * LENGTHS_PER_ITEM if lowering.interleave else Size.of(LENGTHS_PER_CORE)
    count = lowering.scalar("count", greatest(Size.of(1), least(
        most, ceil_div(segments, share))))
    partials = [lowering.temporary("facts", Prim.I64, Size.var(count)) for _ in Fact]
    together = lowering.coherent
    group = lowering.group if lowering.interleave else Size.of(1)
    k = lowering.builder_of_groups()
    all_facts = side_by_side([operator(k.names) for operator, _ in _FACTS.values()])
    arrays = launches.local_arrays(k, [all_facts], group)
    found_here = total_of_group(
        k, all_facts, arrays[0], _totals(k, lengths, all_facts, checks))
    (out,) = lowering.results

    def write(facts: Sequence[Exp]) -> imp.Stm:
        return imp.If(IS_FIRST, tuple(out.write([lit(fact)], value)
                                      for fact, value in zip(Fact, facts, strict=True)))

    def combine_all() -> None:
        """Emit the combination of the facts of all groups."""
        k.emit(write(combine_partials(k, [all_facts], arrays, [partials], lit(0), imp.Var(count))))

    with k.block() as several:
        k.emit(imp.If(IS_FIRST, tuple(imp.Store(target, GROUP_ID, found, Prim.I64)
                                      for target, found in zip(partials, found_here, strict=True))))
        if together:
            with if_last_group(k, lit(0), imp.Var(count)):
                combine_all()
    if together:
        k.emit(imp.If(op("eq", imp.Var(count), lit(1)), (write(found_here),), tuple(several)))
    else:
        k.emit(*several)
    lowering.launch_groups(k, "length_facts", Size.var(count), group)
    if lowering.view(lengths).mem == lengths:
        _announce(lowering, lengths, out.mem if together else partials[0])
    if not together:
        k = lowering.builder_of_groups()
        arrays = launches.local_arrays(k, [all_facts], group)
        combine_all()
        lowering.launch_groups(k, "length_facts_final", Size.of(1), group)
        _announce(lowering, partials[0], out.mem)


def _announce(lowering: launches.Lowering, source: VName, target: VName | None) -> None:
    """Note that the last launch finds facts, which predictions follow."""
    launch = lowering.steps[-1]
    assert isinstance(launch, plan.Launch)
    assert target is not None
    lowering.steps[-1] = replace(launch, facts=plan.FactsFlow(
        launch.args.index(source), launch.args.index(target)))


def _totals(k: KernelBuilder, lengths: VName, all_facts: Operator, checks: SegMap | None
            ) -> list[imp.Var]:
    """Emit the pass of a work-item over its lengths; the facts that it finds.

    The loop only notes the first wrong point.  So it has no branch, and loads of several points are
    under way at a time.
    """
    totals = [k.declare(fact.name.lower(), Prim.I64, lit(0)) for fact in _FACTS]
    wrong = k.declare("wrong", Prim.I64, lit(-1)) if checks is not None else None

    def check(point: Exp) -> None:
        assert checks is not None
        launches.bind_point(k, checks.space, [point])
        k.body(checks.body)

    def length(number: Exp) -> None:
        if wrong is not None:
            failures = len(k.failures)
            with k.block() as made:
                check(number)
            if noted := _noted(made, wrong, number):
                made[:] = noted
                del k.failures[failures:]
            k.emit(*made)
        found = k.declare("length", Prim.I64, length_of(k, lengths, number))
        more = [k.declare("more", Prim.I64, value(found)) for _, value in _FACTS.values()]
        combine(k, all_facts, totals, more, into=totals)

    bound = k.declare("bound", Prim.I64, k.array(lengths).shape[0])
    k.loop(bound, length, start=op("add", op("mul", GROUP_ID, LSIZE), LID),
           step=op("mul", GROUP_COUNT, LSIZE), base="i")
    if wrong is not None and not k.failures:  # where checks branch, the loop has reported them
        with k.when(op("le", lit(0), wrong)):
            check(wrong)
    return totals


def _noted(code: Sequence[imp.Stm], wrong: imp.Var, point: Exp) -> list[imp.Stm] | None:
    """Checks of a point that note it where it is the first wrong one; None if they branch."""
    noted = list[imp.Stm]()
    for stm in code:
        match stm:
            case imp.Declare():
                noted.append(stm)
            case imp.If(fails, (imp.Fail(), *_), ()):
                first = all_of(fails, op("lt", wrong, lit(0)))
                noted.append(imp.Assign(wrong.name, imp.Select(first, point, wrong, Prim.I64)))
            case _:
                return None
    return noted


def _operation(op_: str) -> Callable[[Names], Operator]:
    """The maker of an operation on facts, whose neutral element is 0."""
    return lambda names: one_operation(names, op_, i64(0))


_FACTS: Mapping[Fact, tuple[Callable[[Names], Operator], Callable[[Exp], Exp]]] = {
    Fact.TOTAL: (lambda names: limited_sum(names, MOST_ELEMENTS), lambda length: length),
    Fact.LONGEST: (_operation("max"), lambda length: length),
    Fact.LIVE: (_operation("add"), lambda length: op("min", length, lit(1))),
    Fact.SQUARES: (_operation("add"), lambda length: op("mul", length, length))}
"""The operators that combine facts, and the facts about one length."""
