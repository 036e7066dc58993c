"""Facts about the lengths of segments, which guards need: one pass over the lengths.

Kernel ``length_facts``: work-items go through the lengths in strides, and keep totals in registers.
A group counts lengths by powers of two in local memory.  A work-item adds a run of lengths that
count alike at once, so that equal lengths cause no collisions.  The last group to finish combines
the facts of all groups, if the device shows it the writes of other groups.  Otherwise a second
launch does (``length_facts_final``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.collectives import group_total
from runelift.codegen.kernel.launch_builder import GROUP_COUNT, GROUP_ID, LID, LSIZE
from runelift.codegen.kernel.sequential import KernelBuilder
from runelift.codegen.passes.accesses import IS_FIRST
from runelift.codegen.passes.barriers import insert_barriers
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import lit, op
from runelift.codegen.segops.segred import is_last_group
from runelift.ir import imp
from runelift.ir.imp import Exp
from runelift.ir.names import VName
from runelift.ir.operators import one_operation
from runelift.ir.prim import Prim
from runelift.ir.ragged import CLASSES, FACTS, Fact
from runelift.ir.sizes import Size, ceil_div, greatest, least
from runelift.ir.types import i64

LENGTHS_PER_ITEM = 16
"""The least lengths of a work-item for which there is a further group."""
LENGTHS_PER_CORE = 8192
"""The least lengths for which a processor gets a further work-item."""


@dataclass(frozen=True, slots=True)
class _Facts:
    """The kernels that find facts: ``count`` groups leave facts in ``partials``, one after the
    other.
    """

    lowering: launches.Lowering
    segments: Size
    lengths: VName
    count: VName
    partials: VName

    def partial(self, group: Exp, fact: Exp) -> Exp:
        """The place of a fact that a group found."""
        return op("add", op("mul", group, lit(FACTS)), fact)

    def combine(self, k: KernelBuilder) -> None:
        """Emit the combination of the facts of all groups: each fact by a work-item."""
        (out,) = self.lowering.results

        def fact(number: Exp) -> None:
            is_longest = imp.Apply("eq", Prim.I64, (number, lit(Fact.LONGEST)))
            total = k.declare("total", Prim.I64, lit(0))

            def take(group: Exp) -> None:
                part = k.declare("part", Prim.I64, imp.Load(
                    self.partials, self.partial(group, number), Prim.I64))
                k.emit(imp.Assign(total.name, imp.Select(is_longest, imp.Apply(
                    "max", Prim.I64, (total, part)), op("add", total, part), Prim.I64)))

            k.loop(imp.Var(self.count), take, base="g")
            k.emit(out.write([number], total))

        k.loop(lit(FACTS), fact, start=LID, step=LSIZE, base="f")


def lower_facts(lowering: launches.Lowering, lengths: VName, segments: Size) -> None:
    """Add the kernels that write the facts about ``lengths`` to the only result, an [FACTS]i64."""
    share = lowering.group * LENGTHS_PER_ITEM if lowering.interleave else Size.of(LENGTHS_PER_CORE)
    count = lowering.scalar("count", greatest(Size.of(1), least(
        lowering.groups, ceil_div(segments, share))))
    partials = lowering.temporary("facts", Prim.I64, Size.var(count) * FACTS)
    facts = _Facts(lowering, segments, lengths, count, partials)
    together = lowering.coherent
    group = lowering.group if lowering.interleave else Size.of(1)
    k = lowering.builder_of_groups()
    _find(k, facts, group)
    if together:
        last = is_last_group(k, lit(0), imp.Var(count))
        with k.block() as code:
            facts.combine(k)
        k.emit(imp.If(last, tuple(code)))
    (out,) = lowering.results
    lowering.launch_groups(k, "length_facts", Size.var(count), group)
    if lowering.view(lengths).mem == lengths:
        _announce(lowering, lengths, out.mem if together else partials)
    if not together:
        k = lowering.builder_of_groups()
        facts.combine(k)
        lowering.launch_groups(k, "length_facts_final", Size.of(1), group)
        _announce(lowering, partials, out.mem)


def _announce(lowering: launches.Lowering, source: VName, target: VName | None) -> None:
    """Note that the last launch finds facts, which predictions follow."""
    launch = lowering.steps[-1]
    assert isinstance(launch, plan.Launch)
    assert target is not None
    lowering.steps[-1] = replace(launch, facts=plan.FactsFlow(
        launch.args.index(source), launch.args.index(target)))


def _find(k: KernelBuilder, facts: _Facts, group: Size) -> None:
    """Emit the pass of a group over its lengths, and the stores of what it found."""
    counts = k.names.fresh("counts")
    k.locals.append(imp.LocalArray(counts, Prim.I32, Size.of(CLASSES)))
    totals = {fact: k.declare(fact.name.lower(), Prim.I64, lit(0)) for fact in Fact}
    held, run = k.declare("held", Prim.I64, lit(0)), k.declare("run", Prim.I32, _i32(0))
    shared = facts.lowering.interleave
    with k.block() as code:
        k.loop(lit(CLASSES), lambda c: k.emit(imp.Store(counts, c, _i32(0), Prim.I32)),
               start=LID, step=LSIZE, base="c")

        def flush() -> tuple[imp.Stm, ...]:
            if shared:
                return (imp.Atomic("add", Prim.I32, counts, held, run, imp.Space.LOCAL),)
            return (imp.Store(counts, held, op("add", imp.Load(counts, held, Prim.I32), run,
                                               prim=Prim.I32), Prim.I32),)

        def length(number: Exp) -> None:
            found = k.declare("length", Prim.I64, imp.Apply("max", Prim.I64, (
                k.array(facts.lengths).read([number]), lit(0))))
            for fact, value in _values(found).items():
                total = totals[fact]
                k.emit(imp.Assign(total.name, imp.Apply(_OPERATORS[fact], Prim.I64, (
                    total, value))))
            own = k.declare("own", Prim.I64, _class(found))
            k.emit(imp.If(imp.Apply("eq", Prim.I64, (own, held)), (), (
                *flush(), imp.Assign(held.name, own), imp.Assign(run.name, _i32(0)))),
                imp.Assign(run.name, op("add", run, _i32(1), prim=Prim.I32)))

        bound = k.declare("bound", Prim.I64, k.array(facts.lengths).shape[0])
        k.loop(bound, length, start=op("add", op("mul", GROUP_ID, LSIZE), LID),
               step=op("mul", GROUP_COUNT, LSIZE), base="i")
        k.emit(*flush())
        found = [_total(k, fact, totals[fact], group) for fact in Fact]
        with k.block() as write:
            k.emit(*(imp.Store(facts.partials, facts.partial(GROUP_ID, lit(fact)), value, Prim.I64)
                     for fact, value in zip(Fact, found, strict=True)))
        k.emit(imp.If(IS_FIRST, tuple(write)))
        k.loop(lit(CLASSES), lambda c: k.emit(imp.Store(
            facts.partials, facts.partial(GROUP_ID, op("add", c, lit(len(Fact)))),
            imp.Convert(Prim.I32, Prim.I64, imp.Load(counts, c, Prim.I32)), Prim.I64)),
               start=LID, step=LSIZE, base="c")
    k.emit(*insert_barriers(code, constants=k.constants))


_OPERATORS = {Fact.TOTAL: "add", Fact.LONGEST: "max", Fact.LIVE: "add", Fact.SQUARES: "add"}
"""The operations that combine facts."""


def _values(length: Exp) -> dict[Fact, Exp]:
    """The facts about one length."""
    return {Fact.TOTAL: length, Fact.LONGEST: length,
            Fact.LIVE: imp.Apply("min", Prim.I64, (length, lit(1))),
            Fact.SQUARES: op("mul", length, length)}


def _class(length: Exp) -> Exp:
    """The class in which a length counts."""
    bits = op("sub", lit(64), imp.Apply("clz", Prim.I64, (op("sub", length, lit(1)),)))
    few = imp.Apply("le", Prim.I64, (length, lit(1)))
    return imp.Select(few, lit(0), imp.Apply("min", Prim.I64, (bits, lit(CLASSES - 1))), Prim.I64)


def _total(k: KernelBuilder, fact: Fact, total: imp.Var, group: Size) -> imp.Var:
    """A fact of all work-items of a group."""
    operator = one_operation(k.names, _OPERATORS[fact], i64(0))
    (mems,) = launches.local_arrays(k, [operator], group)
    (found,) = group_total(k, operator, [total], mems, k.constants[1])
    return found


def _i32(value: int) -> Exp:
    return imp.Convert(Prim.I64, Prim.I32, lit(value))
