"""Following a kernel once, with forms and conditions for its values, and adding up its work.

* A branch that all work-items take alike becomes a branch of the formula.
* Other branches count for the share of work-items that take them, half if elements decide.  A side
  that reports a failure counts nothing.
* A loop counts its mean number of iterations for sums, the greatest for the longest work-item.  If
  elements decide, it counts what it announces, else one iteration, and so do ``while`` loops.
* A variable that a loop's body increases by a size grows evenly.  Any other variable that the body
  assigns to has no known value there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from runelift.codegen.cost.conditions import (
    UNKNOWN,
    Compare,
    Condition,
    Known,
    compared,
    connected,
    either,
    opposite,
    settle,
    share,
    single,
)
from runelift.codegen.cost.counters import conjuncts, definitions, expanded, loads
from runelift.codegen.cost.expressions import LARGEST_SHIFT, Expr, Graph, Node, Region
from runelift.codegen.cost.forms import SUB_GROUP, Forms
from runelift.codegen.cost.polynomials import ONE, ZERO, Form, number, of
from runelift.codegen.cost.sums import Access, Frame, Here, Sums, is_vector
from runelift.codegen.passes.invariant_checks import runs_ever
from runelift.ir import imp
from runelift.ir.imp import Exp, Id, Stm
from runelift.ir.imp.dependence import assigned, reaching_memory
from runelift.ir.imp.traverse import statements, variables
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim

Value: TypeAlias = "Form | Condition | None"
"""An integer, a truth value, or what is not followed: floating-point numbers."""

MOST_SPLITS = 4
"""Branches within each other that are followed with all that comes after them."""
LIKELY = 0.5
"""The part of the iterations of a loop that it runs if elements may end it."""
SHORT = 16
"""Loops of at most so many iterations, a number that the kernel has, are unrolled by compilers."""
LOOP_STEPS = 3
"""Steps of an iteration for the loop itself."""
LOADS_BEFORE = 3
"""Loads that follow one another before a loop over a segment: its length, place, first element."""
SWAPS = 4
"""The atomic operations that take as long as an update by compare-and-swap (measured)."""


class Follower:
    """Follows a kernel.  ``top`` then has all its sums; ``spilled`` are arrays in memory."""

    def __init__(self, kernel: imp.Kernel, names: dict[VName, str]) -> None:
        self.graph = graph = Graph()
        self.forms = forms = Forms(graph)
        self._global = {p.name for p in kernel.params if isinstance(p, imp.BufferParam)}
        self._local = {array.name for array in kernel.locals}
        group = forms.size(graph.name("group"), fixed=kernel.group is not None)
        groups = forms.size(graph.name("groups"))
        self._lane = forms.lane = forms.item(forms.expr(group))
        self._group = forms.item(forms.expr(groups), (self._lane,))
        self._sums = Sums(graph, forms, self._lane, reaching_memory(kernel.body))
        place = of(self._group).mul(group).add(of(self._lane))
        everywhere = groups.mul(group)
        self._ids = {Id.LOCAL_ID: of(self._lane), Id.GROUP_ID: of(self._group),
                     Id.GLOBAL_ID: place, Id.LOCAL_SIZE: group, Id.NUM_GROUPS: groups,
                     Id.GLOBAL_SIZE: everywhere, Id.FAILURE: number(-1)}
        forms.filled = {of(self._lane): group, of(self._group): groups, place: everywhere}
        self._values: dict[VName, Value] = {}
        for name, text in names.items():
            fixed = name in kernel.built_for  # others may be negative: strides, ``n - 2``
            argument = graph.name(text, 0 if fixed else -math.inf)
            self._values[name] = forms.size(argument, fixed=fixed)
        for param in kernel.params:
            if isinstance(param, imp.ScalarParam) and not param.prim.is_int:
                self._values[param.name] = (Known(graph.name(names[param.name]))
                                            if param.prim is Prim.BOOL else None)
        if kernel.group is not None:
            self._values[kernel.group] = group
        self._log: list[VName] = []
        self._assumed: dict[Node, bool] = {}
        self._loops: dict[int, list[VName]] = {}
        self._places: dict[VName, Form | None] = {}
        """The index of the last store to each private array; its value is that of the array."""
        self.top = Region()
        total = graph.mul(graph.name("groups"), graph.name("group"))
        lanes = graph.most(graph.least(graph.name("group"), SUB_GROUP), 1)
        self._block(kernel.body, Here(self.top, total, 1, 1, 1, lanes))

    @property
    def buffers(self) -> list[str]:
        """The maxima of bytes reached in each buffer."""
        return list(self._sums.buffers)

    @property
    def spilled(self) -> set[int]:
        """The numbers of the private arrays that are in memory."""
        return {name.tag for name in self._sums.dynamic}

    # Statements

    def _block(self, stms: Sequence[Stm], here: Here) -> None:
        for k, stm in enumerate(stms):
            if isinstance(stm, imp.Declare | imp.Assign):
                stm = self._as_branch(stm)
            match stm:
                case imp.If():
                    if self._if(stm, here, stms[k + 1:]):
                        return
                case imp.Declare(name, prim, init):
                    value = self._start(prim) if init is None else self._value(
                        init, here, name in self._sums.meaningful)
                    if stm.expected is not None and (
                            variables(stm.expected) <= self._values.keys()):
                        value = self._quiet(stm.expected)
                    self._values[name] = value
                case imp.Assign(name, value):
                    self._assign(name, self._value(value, here, name in self._sums.meaningful))
                case imp.Store(mem, index, value, prim):
                    stored, place = self._value(value, here, counts=True), self._index(index, here)
                    self._access(Access(mem, place, prim, writes=True), here)
                    if mem not in self._global and mem not in self._local:
                        self._places[mem] = place
                        self._assign(mem, stored)
                case imp.For():
                    self._for(stm, here)
                case imp.While(cond, body):
                    self._value(cond, here)
                    distance, likely = self._while_distance(cond, body)
                    self._loop(body, here, None, ONE, distance, likely)
                case imp.Barrier():
                    here.region.add("barriers", here.longest)
                    self._sums.epoch += 1
                case imp.Shuffle(name, prim, value, source):
                    self._value(value, here, counts=True)
                    self._value(source, here)
                    here.region.add("local", here.weight)
                    here.region.add("steps", here.longest, 2)
                    self._values[name] = self._unknown(prim, of(self._lane))
                case imp.Atomic() | imp.AtomicUpdate() | imp.Peek():
                    self._exchange(stm, here)
                case _:
                    pass

    def _as_branch(self, stm: imp.Declare | imp.Assign) -> Stm:
        """An assignment of one of two integers as a branch, if work-items take it alike."""
        exp = stm.init if isinstance(stm, imp.Declare) else stm.value
        if not isinstance(exp, imp.Select) or not exp.prim.is_int:
            return stm
        cond = self._quiet(exp.cond)
        if not isinstance(cond, Known) or not isinstance(cond.holds, Node):
            return stm
        self._values.setdefault(stm.name, ZERO)
        return imp.If(exp.cond, (imp.Assign(stm.name, exp.then_),),
                      (imp.Assign(stm.name, exp.else_),))

    def _assign(self, name: VName, value: Value) -> None:
        self._values[name] = value
        self._log.append(name)

    def _start(self, prim: Prim) -> Value:
        return ZERO if prim.is_int else UNKNOWN if prim is Prim.BOOL else None

    def _unknown(self, prim: Prim, index: Form | None, depth: int = 0) -> Value:
        """A value that depends on elements at an index."""
        if prim is Prim.BOOL:
            return UNKNOWN
        if not prim.is_int:
            return None
        return self.forms.element(of(self._lane) if index is None else index, depth=depth)

    def _exchange(self, stm: imp.Atomic | imp.AtomicUpdate | imp.Peek, here: Here) -> None:
        index = self._index(stm.index, here)
        access = Access(stm.mem, index, stm.prim, writes=False)
        match stm:
            case imp.Atomic(op, prim, _, _, value, space, old):
                self._value(value, here, counts=True)
                self._sums.atomic(access, space, here)
                if old is not None:
                    self._values[old] = self._unknown(prim, index)
                if op not in ("and", "or", "xor", "xchg"):
                    here.region.add("arithmetic", here.weight)
            case imp.AtomicUpdate(_, _, prim, space, old, body, new):
                self._sums.atomic(access, space, here, SWAPS)
                self._values[old] = self._unknown(prim, index)
                self._block(body, here)
                self._value(new, here, counts=True)
            case imp.Peek(name, prim):
                self._access(access, here)
                self._values[name] = self._unknown(prim, index)

    # Branches

    def _if(self, stm: imp.If, here: Here, after: Sequence[Stm]) -> bool:
        """Follow a branch; True if that was done with the statements after it as well.

        That is so if all work-items take the branch alike, and indices after it depend on it.
        """
        cond = self._value(stm.cond, here)
        if cond is None:  # elements of an array of flags
            cond = UNKNOWN
        if stm.cond == runs_ever(stm.then_):  # the loop itself tells how often it runs
            cond = Known(1)
        fails = [any(isinstance(s, imp.Fail) for s in side) for side in (stm.then_, stm.else_)]
        if not isinstance(cond, Known) and fails[0] != fails[1]:
            cond = Known(fails[1])
            self._hold(stm.cond)
        if not isinstance(cond, Known):
            assert isinstance(cond, Condition)
            first, second = self._parts(cond, here)
            if stm.else_ and cond != UNKNOWN:  # the longest work-item takes one side, mostly
                chance = share(self.forms, cond)
                first = replace(first, longest=self.graph.mul(here.longest, chance))
                second = replace(second, longest=self.graph.mul(
                    here.longest, self.graph.sub(1, chance)))
            self._sides(stm, cond, first, second)
            return False
        if not isinstance(cond.holds, Node):
            self._block(stm.then_ if cond.holds else stm.else_, here)
            return False
        a = replace(here, region=here.region.inside())
        b = replace(here, region=here.region.inside())
        here.region.choices.append((cond.holds, a.region, b.region))
        before, begun, assumed = dict(self._values), len(self._log), dict(self._assumed)
        self._assume(stm.cond, cond.holds, holds=True)
        self._block(stm.then_, a)
        then, self._values, self._assumed = self._values, before, dict(assumed)
        self._assume(stm.cond, cond.holds, holds=False)
        self._block(stm.else_, b)
        split = here.region.depth < MOST_SPLITS and any(
            isinstance(then.get(name), Form) and then[name] != self._values.get(name)
            for name in self._log[begun:])
        if split:
            self._block(after, b)
            other, self._values = self._values, then
            self._assumed = dict(assumed)
            self._assume(stm.cond, cond.holds, holds=True)
            self._block(after, a)
            then, self._values = self._values, other
        self._assumed = assumed
        self._join(cond, then, begun, alone=False)
        return split

    def _hold(self, failing: Exp) -> None:
        """From a check on, its condition holds: a run that fails need not be fast."""
        match failing:
            case imp.Apply("not", _, (imp.Var(name),)):
                self._values[name] = Known(1)

    def _assume(self, exp: Exp, cond: Node, *, holds: bool) -> None:
        """Assume that a condition on sizes holds, or that it does not."""
        self._assumed[cond] = holds
        match exp:
            case imp.Apply("eq", _, (imp.Var(name), imp.Lit(const))) if holds:
                self._values[name] = number(int(const.value))

    def _parts(self, cond: Condition, here: Here) -> tuple[Here, Here]:
        """The places of both sides of a branch that work-items take differently."""
        graph = self.graph
        chance = share(self.forms, cond)
        sides = [Here(here.region, graph.mul(here.weight, each), here.longest,
                      graph.mul(here.part, each), graph.mul(here.share, each), here.lanes,
                      here.frames) for each in (chance, graph.sub(1, chance))]
        if single(self.forms, cond, self._lane):
            sides[0] = replace(sides[0], lanes=graph.most(graph.mul(here.lanes, chance), 1))
        return sides[0], sides[1]

    def _sides(self, stm: imp.If, cond: Condition, first: Here, second: Here) -> None:
        before, begun = dict(self._values), len(self._log)
        bounds = dict(self.forms.bounds)
        settle(self.forms, cond)
        self._block(stm.then_, first)
        self.forms.bounds = bounds
        then, self._values = self._values, before
        if stm.else_:
            self._block(stm.else_, second)
        self._join(cond, then, begun, alone=not stm.else_)

    def _join(self, cond: Condition, then: dict[VName, Value], begun: int, *, alone: bool) -> None:
        """Give the variables assigned in either branch the values that they have after both."""
        for name in dict.fromkeys(self._log[begun:]):
            if name in then and name in self._values:
                self._values[name] = self._joined(cond, then[name], self._values[name], alone=alone)

    def _joined(self, cond: Condition, a: Value, b: Value, *, alone: bool) -> Value:
        """The value of a variable after a branch.

        Without another side, an index that a branch moves by a size is as before.  It only starts
        another row, so the place in memory is where it would have been.  So is a number that a
        branch sets to a constant, such as one that is 0 if it does not pay.
        """
        if a == b:
            return a
        if isinstance(a, Form) and isinstance(b, Form):
            if isinstance(cond, Known):
                chosen = self.forms.size(self.graph.choose(cond.holds, 1, 0))
                return self.forms.bounded(chosen.mul(a).add(chosen.mul(b), -1).add(b))
            if alone and (self.forms.is_size(a.add(b, -1)) or a.constant is not None):
                return b
            return self.forms.element(a, b)
        if a is None or b is None or isinstance(a, Form) or isinstance(b, Form):
            return None
        return either(self.forms, cond.holds, a, b) if isinstance(cond, Known) else UNKNOWN

    # Loops

    def _for(self, loop: imp.For, here: Here) -> None:
        start, bound, step = (self._index(e, here) for e in (loop.start, loop.bound, loop.step))
        if start is None:
            start = self.forms.element()
        if step is None or not self.forms.is_size(step):
            step = ONE
        self._values[loop.index] = start
        distance = None if bound is None else bound.add(start, -1)
        if distance is not None and self.forms.unknown(distance):
            distance = None
        expected = None
        if distance is None and (found := self._expected(loop)) is not None:
            mean, longest = found
            expected = mean, mean
            here.region.reach("uneven", self._uneven(mean, longest, bound, here))
            here.region.add("waits", here.longest, LOADS_BEFORE)
        self._loop(loop.body, here, loop, step, distance, expected=expected)

    def _expected(self, loop: imp.For) -> tuple[Expr, Expr] | None:
        """The mean and the greatest number of iterations that a loop announces."""
        if loop.expected is None:
            return None
        trips, known = loop.expected, list[Expr]()
        for exp in (trips.count, trips.among, trips.longest):
            value = self._quiet(exp) if variables(exp) <= self._values.keys() else None
            if not isinstance(value, Form) or not self.forms.is_size(value):
                return None
            known.append(self.graph.most(self.forms.expr(value), 0))
        count, among, longest = known
        mean = self.graph.over(count, self.graph.most(among, 1))
        return mean, self.graph.most(longest, mean)

    def _uneven(self, mean: Expr, longest: Expr, bound: Form | None, here: Here) -> Expr:
        """The time of the work-item that meets the longest segment, by that of a usual one.

        If a work-item walks through many segments, the longest is only one of them.
        """
        graph, varies = self.graph, () if bound is None else self.forms.varies(bound)
        segments: Expr = 1
        for frame in here.frames:
            if frame.item in varies:
                segments = graph.mul(segments, frame.trips)
        more = graph.add(graph.over(longest, mean), -1)
        return graph.add(1, graph.over(more, graph.most(segments, 1)))

    def _loop(self, body: Sequence[Stm], here: Here, loop: imp.For | None, step: Form,
              distance: Form | None = None, likely: float = 1,
              expected: tuple[Expr, Expr] | None = None) -> None:
        """Follow the body of a loop, which is of unknown length if there is no distance.

        Only a ``likely`` part of its iterations are run on average.  ``expected`` are the mean and
        the greatest number of iterations of a loop whose length elements decide.
        """
        graph = self.graph
        trips, longest = expected or ((1, 1) if distance is None
                                      else self.forms.trips(distance, step))
        if trips == 0:
            return
        if distance is not None and not self._differs(distance):
            longest = trips
        trips = graph.mul(trips, likely)
        unrolled = loop is not None and (loop.unroll is True or (
            isinstance(trips, (int, float)) and trips <= SHORT and distance is not None))
        announced = loop is not None and loop.expected is not None
        weight = graph.mul(here.weight, trips)
        taken = [self._lane, self._group, *(frame.item for frame in here.frames)]
        frame = Frame(self.forms.item(longest, taken), unrolled, trips, here.weight, here.share,
                      graph.mul(here.longest, longest), loop is None or self._is_serial(body),
                      announced, announced and unrolled and not is_vector(body), self.forms.made)
        inside = Here(here.region, weight, frame.longest,
                      graph.mul(here.part, graph.least(trips, 1)), 1, here.lanes,
                      (*here.frames, frame))
        if not unrolled:
            here.region.add("operations", weight, LOOP_STEPS)
            here.region.add("steps", frame.longest, LOOP_STEPS)
        count = of(frame.item)
        if loop is not None:
            before = self._values[loop.index]
            assert isinstance(before, Form)
            self._values[loop.index] = before.add(count.mul(step))
        growing = self._growing(body, count)
        self._block(body, inside)
        known = likely == 1 and distance is not None and self.forms.is_size(distance)
        for name, (start, increase) in growing.items():
            self._assign(name, self.forms.bounded(start.add(increase.mul(self.forms.size(trips))))
                         if known else self.forms.element(start))
        self._forget(body, growing)

    def _is_serial(self, body: Sequence[Stm]) -> bool:
        """True if loads of an iteration are not issued before the one before has ended."""
        return any(isinstance(each, imp.Barrier | imp.Atomic | imp.AtomicUpdate | imp.Shuffle)
                   or (isinstance(each, imp.Store) and each.mem in self._global)
                   for each in statements(body))

    def _differs(self, distance: Form) -> bool:
        """True if work-items run a loop differently often."""
        varies = self.forms.varies(distance)
        return self._lane in varies or self._group in varies

    def _growing(self, body: Sequence[Stm], count: Form) -> dict[VName, tuple[Form, Form]]:
        """Set the variables that a loop assigns to, as they are in some iteration.

        The result has the variables that grow evenly: the value before the loop, and the growth.
        """
        names = {name for name in self._assigned(body) if name in self._values}
        given = definitions(body)
        found: dict[VName, tuple[Form, Form]] = {}
        branches = [s for stm in body if isinstance(stm, imp.If) for s in stm.then_]
        for stms in (body, branches):  # a branch may be all iterations but the last
            for stm in stms if stms is body or not found else ():
                if isinstance(stm, imp.Assign) and stm.name in names:
                    increase = self._increase(stm, names, given)
                    before = self._values[stm.name]
                    if increase is not None and isinstance(before, Form):
                        found.setdefault(stm.name, (before, increase))
        for name, (before, increase) in found.items():
            self._values[name] = self.forms.bounded(before.add(increase.mul(count)))
        kept = {name for name in names - found.keys() if found and self._moved_rarely(name, body)}
        self._forget(body, {*found, *kept})
        return found

    def _assigned(self, body: Sequence[Stm]) -> list[VName]:
        """The variables that a loop assigns to."""
        found = self._loops.get(id(body))
        if found is None:
            found = self._loops[id(body)] = sorted(assigned(body))
        return found

    def _increase(self, stm: imp.Assign, names: set[VName], given: Mapping[VName, Exp]
                  ) -> Form | None:
        """The size that an assignment to a variable adds to it in every iteration."""
        match expanded(stm.value, given):
            case imp.Apply("add" | "sub" as op, prim, (imp.Var(name), by)) if (
                    name == stm.name and prim.is_int and variables(by).isdisjoint(names)
                    and variables(by) <= self._values.keys()):
                value = self._quiet(by)
                if isinstance(value, Form) and not self.forms.unknown(value):
                    return value if op == "add" else value.mul(number(-1))
        return None

    def _while_distance(self, cond: Exp, body: Sequence[Stm]) -> tuple[Form | None, float]:
        """A bound on the iterations of a loop, if its condition compares a counter with a size.

        The other number is the part of them that are likely: half if elements decide as well.  A
        loop that waits for other groups has no bound.
        """
        if any(isinstance(stm, imp.Peek | imp.Barrier) for stm in statements(body)):
            return None, 1
        given = definitions(body)
        if isinstance(cond, imp.Var):  # the condition of the next iteration
            cond = next((s.value for s in body if isinstance(s, imp.Assign)
                         and s.name == cond.name), cond)
        conditions = conjuncts(cond, given)
        kept, begun = dict(self._values), len(self._log)
        item = self.forms.item(0)
        self._growing(body, of(item))
        found = None
        for each in conditions:
            value = self._quiet(expanded(each, given))
            if found is not None or not isinstance(value, Compare) or value.op == "==":
                continue
            distance = value.b.add(value.a, -1).add(ONE)
            pace = -(distance.terms.get((item,), 0))
            rest = Form({m: c for m, c in distance.terms.items() if item not in m})
            if pace > 0 and item not in rest.varies:
                found = self.forms.quotient(rest, number(pace))
        self._values = kept
        del self._log[begun:]
        return found, 1 if len(conditions) == 1 else LIKELY

    def _moved_rarely(self, name: VName, body: Sequence[Stm]) -> bool:
        """True if branches alone assign to an index, from itself, as when a row ends."""
        values = [s.value for s in statements(body) if isinstance(s, imp.Assign) and s.name == name]
        return isinstance(self._values[name], Form) and all(name in variables(v) for v in values)

    def _forget(self, body: Sequence[Stm], but: set[VName] | dict[VName, tuple[Form, Form]]
                ) -> None:
        """Forget the values of variables that a loop assigns to."""
        for name in self._assigned(body):
            if name in self._values and name not in but:
                value = self._values[name]
                if isinstance(value, Form):
                    value = self.forms.element(of(self._lane), value)
                elif value is not None:
                    value = UNKNOWN
                self._assign(name, value)

    # Expressions

    def _quiet(self, exp: Exp) -> Value:
        """The value of an expression, without a count of its evaluation."""
        nowhere = Here(Region(), 0, 0, 0, 0, 1)
        return None if loads(exp) else self._value(exp, nowhere)

    def _index(self, exp: Exp, here: Here) -> Form | None:
        value = self._value(exp, here)
        return value if isinstance(value, Form) else None

    def _value(self, exp: Any, here: Here, counts: bool = False) -> Value:
        """The value of an expression, which is evaluated; ``counts``: its integers are data."""
        kind = type(exp)
        if kind is imp.Var:
            return self._values.get(exp.name)
        if kind is imp.Lit:
            const = exp.const
            return (number(int(const.value)) if const.prim.is_int else
                    Known(bool(const.value)) if const.prim is Prim.BOOL else None)
        if kind is imp.Apply:
            return self._apply(exp, here, counts)
        if kind is imp.WorkItem:
            if exp.dim:
                return ONE if exp.kind in (Id.LOCAL_SIZE, Id.NUM_GROUPS, Id.GLOBAL_SIZE) else ZERO
            return self._ids[exp.kind]
        if kind is imp.Load:
            access = Access(exp.mem, self._index(exp.index, here), exp.prim, writes=False)
            return self._access(access, here)
        if kind is imp.Convert:
            return self._converted(exp.from_, exp.to, self._value(exp.arg, here, counts), here)
        return self._select(exp, here, counts)

    def _apply(self, exp: imp.Apply, here: Here, counts: bool) -> Value:
        """The value of an operation, which is counted."""
        values = [self._value(arg, here, counts) for arg in exp.args]
        if exp.prim.is_float:
            self._sums.operation(exp, here, None, None, counts)
            op = OPS[exp.op]
            return UNKNOWN if op.predicate else self._unknown(
                op.result(exp.prim), None) if op.reinterprets else None
        found = self._applied(exp.op, exp.prim, values)
        if isinstance(found, Known) and isinstance(found.holds, Node):
            found = Known(self._assumed.get(found.holds, found.holds))
        last = values[-1]
        self._sums.operation(exp, here, last if isinstance(last, Form) else None,
                             found if isinstance(found, Form) else None, counts)
        return found

    def _converted(self, from_: Prim, to: Prim, value: Value, here: Here) -> Value:
        if from_.is_float != to.is_float:
            here.region.add("operations", here.weight)
            here.region.add("steps", here.longest)
        if to.is_int and isinstance(value, Form):
            return value
        if to.is_int and isinstance(value, Known):
            return self.forms.size(self.graph.choose(value.holds, 1, 0))
        return self._unknown(to, None)

    def _access(self, access: Access, here: Here) -> Value:
        """Count an access; the value if it is a load."""
        mem, index = access.mem, access.index
        if mem in self._global:
            self._sums.global_access(access, here)
        elif mem in self._local:
            self._sums.local_access(index, here)
        else:
            self._sums.private_access(mem, index, here)
        if access.writes:
            return None
        if mem in self._local and access.prim.bits == 64 and access.prim.is_int and (
                index is not None and index.constant is not None):
            return of(self._group)  # a group's turn, which its first work-item took
        depth = 0 if index is None or mem not in self._global else 1 + max(
            (v.depth for v in self.forms.varies(index)), default=0)
        if mem in self._global or mem in self._local:
            return self._unknown(access.prim, index, depth)
        if index is not None and index == self._places.get(mem):
            return self._values.get(mem)
        return self._unknown(access.prim, None)

    def _select(self, exp: imp.Select, here: Here, counts: bool) -> Value:
        cond = self._value(exp.cond, here)
        if isinstance(cond, Known) and not isinstance(cond.holds, Node):
            return self._value(exp.then_ if cond.holds else exp.else_, here, counts)
        here.region.add("operations", here.weight)
        if cond is None or isinstance(cond, Form):
            cond = UNKNOWN
        first, second = self._parts(cond, here)
        a, b = self._value(exp.then_, first, counts), self._value(exp.else_, second, counts)
        if isinstance(a, Form) and isinstance(b, Form) and not isinstance(cond, Known):
            if self.forms.unknown(a) != self.forms.unknown(b):
                return a if self.forms.unknown(a) else b
            if single(self.forms, cond, self._lane):
                return b
            return a if len(self.forms.varies(a)) >= len(self.forms.varies(b)) else b
        return self._joined(cond, a, b, alone=False)

    def _applied(self, op: str, prim: Prim, values: Sequence[Value]) -> Value:
        """The value of an operation."""
        if prim is Prim.BOOL:
            return self._logic(op, values)
        if not all(isinstance(v, Form) for v in values):
            return UNKNOWN if OPS[op].predicate else self._unknown(OPS[op].result(prim), None)
        forms = [v for v in values if isinstance(v, Form)]
        if op in ("eq", "lt", "le"):
            return compared(self.forms, {"eq": "==", "lt": "<", "le": "<="}[op], *forms)
        if OPS[op].predicate:
            return UNKNOWN
        return self._arithmetic(op, prim, forms)

    def _logic(self, op: str, values: Sequence[Value]) -> Condition:
        conds = [v if isinstance(v, Condition) else UNKNOWN for v in values]
        if op in ("and", "or"):
            return connected(self.forms, op, conds[0], conds[1])
        if op == "not":
            return opposite(self.forms, conds[0])
        return UNKNOWN

    def _arithmetic(self, op: str, prim: Prim, args: Sequence[Form]) -> Form:
        forms, a = self.forms, args[0]
        b = args[-1]
        match op:
            case "add":
                return forms.bounded(a.add(b))
            case "sub":
                return forms.bounded(a.add(b, -1))
            case "neg":
                return a.mul(number(-1))
            case "mul":
                if len(a.terms) * len(b.terms) <= 64:
                    return forms.bounded(a.mul(b))
            case "quot" | "div":
                return forms.quotient(a, b)
            case "rem" | "mod":
                return forms.bounded(forms.rest(a, b))
            case "min" | "max":
                return forms.extreme(op, a, b)
            case "and" if not forms.is_size(a) and forms.is_size(b) and not forms.unknown(a):
                return forms.bounded(forms.rest(a, b.add(ONE)))  # a mask of the last bits
            case "shr" | "lshr" if b.constant is not None and not forms.is_size(a):
                return forms.quotient(a, number(1 << min(max(b.constant, 0), LARGEST_SHIFT)))
        if all(map(forms.is_size, args)) and (found := forms.of_sizes(op, prim, args)) is not None:
            return forms.size(found, fixed=all(map(forms.is_fixed, args)))
        return forms.element(a, b)
