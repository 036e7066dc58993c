"""Costs of versions: a Python function for each version, which adds up what its launches cost.

The functions follow the steps of a plan without a device, as text that is printed beside the plan.
They take ``rt``, which predicts the time of a launch from its work
(:mod:`runelift.runtime.cost.predictor`).  They also take the **facts** of a choice, which are the
scalars of the host that its launches depend on.  So equal facts mean equal costs.

* A loop whose launches are alike in all iterations is followed once.  Of any other loop some
  iterations stand for all.  A ``while`` loop is followed as long as its condition holds, or once
  if the host does not know the condition.
* A scalar that the host reads from the device is unknown.  Facts about lengths are known where the
  lengths are given: a function takes them, and asks ``rt`` for their facts.  Both sides of a branch
  on an unknown scalar count half.  A launch whose size is unknown costs no more than its start.  In
  formulas of work it is 1.
  In a loop over runs of segments, the least of an unknown and a known scalar counts as the known.
* A ``while`` loop of unknown condition may carry the least of an unknown and a known scalar, such
  as the number of active points.  The iteration that stands for all has as many as are known.
* An inner choice costs what the version costs that would run there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from types import CodeType

from runelift.codegen.cost.totals import ENTRY
from runelift.codegen.cost.work import arguments_used, work_source
from runelift.codegen.emit.python import PlanWriter, launch_shape
from runelift.codegen.emit.python_expressions import atom_text, index_text, size_text, variable
from runelift.codegen.plan import plan
from runelift.codegen.plan.free_scalars import names_in
from runelift.ir import imp
from runelift.ir.names import VName
from runelift.ir.types import Atom

UNKNOWN = "1"
"""Stands for an unknown scalar in formulas of work."""
ONCE = "rt.once()"
"""Says that one iteration stands for a loop of unknown length, or one call for a recursion."""


@dataclass(frozen=True, slots=True)
class CostSource:
    """The ``text`` of cost functions, and ``facts``: the host scalars that are their arguments."""

    text: str
    facts: tuple[VName, ...]


def with_costs(host: plan.Plan) -> plan.Plan:
    """The plan with the facts and cost functions of each choice, and the formulas they call."""
    works = dict[str, str]()
    steps = _Attaching(works).steps(host.steps, frozenset())
    return replace(host, steps=steps, works=works)


@dataclass(frozen=True, slots=True)
class _Attaching:
    """Gives choices their costs; ``works`` has the formulas of kernels met so far, by name."""

    works: dict[str, str]

    def steps(self, steps: tuple[plan.Step, ...], changing: Set[VName]) -> tuple[plan.Step, ...]:
        """Steps whose choices have costs; ``changing`` scalars differ in steady loops around."""
        return tuple(self.step(step, changing) for step in steps)

    def step(self, step: plan.Step, changing: Set[VName]) -> plan.Step:
        """A step, reduced to parts whose choices have costs."""
        match step:
            case plan.Branch(cond, then_, else_):
                return plan.Branch(cond, self.steps(then_, changing), self.steps(else_, changing))
            case plan.Fill() | plan.Operation():
                return replace(step, steps=self.steps(step.steps, changing))
            case plan.CountedLoop(body=body) | plan.WhileLoop(body=body):
                if isinstance(step, plan.CountedLoop) and step.carried is not None:
                    changing = changing | _columns(step)
                return replace(step, body=self.steps(body, changing))
            case plan.Recursion(body=body):
                return replace(step, body=self.steps(body, changing))
            case plan.Choose(versions=versions):
                step = replace(step, versions=tuple(
                    replace(each, steps=self.steps(each.steps, changing)) for each in versions))
                if sum(each.infeasible is None for each in versions) > 1:
                    source = _costs_of_versions(step, changing, self.works)
                    step = replace(step, facts=source.facts, costs=source.text)
        return step


def _costs_of_versions(choice: plan.Choose, changing: Set[VName], works: dict[str, str]
                       ) -> CostSource:
    """The functions ``cost_K(rt, facts…)`` of the versions K of a choice that can be compiled."""
    writer = _CostWriter(works)
    bodies = list[tuple[str, list[str]]]()
    for number, version in enumerate(choice.versions):
        if version.infeasible is None:
            bodies.append((f"{ENTRY}_{number}", writer.body(version.steps, changing)))
    return _functions(bodies, choice)


def cost_of_entry(host: plan.Plan, works: dict[str, str], lengths: Set[VName] = frozenset()
                  ) -> CostSource:
    """The function ``cost(rt, facts…)`` of a whole entry point.

    ``works`` are formulas of kernels by name.  Formulas that the function calls are added.
    ``lengths`` are parameters whose elements are known when the function is called.
    """
    writer = _CostWriter(works, lengths)
    return _functions([(ENTRY, writer.body(host.steps, frozenset()))], host)


def _functions(bodies: Sequence[tuple[str, list[str]]], place: object) -> CostSource:
    """The functions with these bodies."""
    known = {variable(name): name for name in set(names_in(place))}
    known |= {variable(name): name for name in plan.DEVICE_SIZES}
    used = dict.fromkeys(name for title, body in bodies
                         for name in _free_names(title, body) if name in known)
    parameters = "".join(f", {name}" for name in used)
    lines = list[str]()
    for title, body in bodies:
        lines += [f"def {title}(rt{parameters}):", *body]
    return CostSource("\n".join(lines) + "\n", tuple(known[name] for name in used))


def _free_names(title: str, body: Sequence[str]) -> Iterator[str]:
    """The names that a function takes from outside, in a fixed order."""
    code = compile("\n".join([f"def {title}(rt):", *body]), "<costs>", "exec")
    pending = _functions_in(code)
    while pending:
        function = pending.pop(0)
        yield from function.co_names
        pending += _functions_in(function)


def _functions_in(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


class _CostWriter(PlanWriter):
    """Writes the steps of a plan as steps that only cost; ``works`` has the formulas of kernels.

    ``lengths`` are arrays of lengths that are known.
    """

    def __init__(self, works: dict[str, str], lengths: Set[VName] = frozenset()) -> None:
        super().__init__(replay=False, trials=False)
        self.works = works
        self._lengths: dict[Atom, VName] = {name: name for name in lengths}
        """The known lengths, and the buffers with facts about them."""
        self._uses: dict[str, tuple[bool, ...]] = {}
        self._unknown_inside: dict[tuple[int, frozenset[VName]], frozenset[VName]] = {}
        self._unknown: set[VName] = set()
        self._most: dict[Atom, Atom] = {}
        """Known scalars that unknown scalars do not exceed."""
        self._needed: Set[VName] = frozenset()

    def body(self, steps: tuple[plan.Step, ...], unknown: Set[VName]) -> list[str]:
        """The lines of a function that follows ``steps``."""
        self.depth, self._unknown = 1, set(unknown)
        self._needed = self._needed_by(steps)
        self.steps(steps, "")
        self.line("return")
        return self.taken()

    def step(self, step: plan.Step, version: str) -> None:
        """Write the code that counts one step; what depends on unknown scalars is unknown."""
        match step:
            case plan.Fill(_, steps) | plan.Operation(steps=steps):
                for inner in steps:
                    self.step(inner, version)
            case plan.Read():
                self._read_element(step)
            case plan.CopyBuffer(_, _, prim, count):
                size = f"({size_text(count)}) * {prim.bytes}" if self._knows(count) else "0"
                self.line(f"rt.copy({size})")
            case plan.Launch():
                self._launch(step, version)
            case plan.Branch():
                self._branch(step, version)
            case plan.CountedLoop() | plan.WhileLoop():
                self._loop(step, version)
            case plan.Choose():
                self._choose(step)
            case plan.Recursion():
                for inner in _outermost(step):
                    self.step(inner, version)
                self._unknown.update(plan.sets(step))
            case plan.Call():  # how deep it goes is known only when it runs
                self.line(ONCE)
                self._unknown.update(plan.sets(step))
            case _:
                self._scalar(step, version)

    def _branch(self, step: plan.Branch, version: str) -> None:
        """Write a branch; both sides count half if the condition is unknown.

        A scalar is known behind the branch if it is known at the end of both sides.  If the
        condition is unknown, no scalar that a side sets is known.
        """
        known, before, unknown = self._knows(step.cond), frozenset(self._unknown), set[VName]()
        for title, side in ((f"if {atom_text(step.cond)}:", step.then_), ("else:", step.else_)):
            self._unknown = set(before)
            if not known:
                mark = self._mark()
                for inner in side:
                    self.step(inner, version)
                self.line(f"rt.scale({mark}, 0.5)")
                unknown.update(name for inner in plan.all_steps(side) for name in plan.sets(inner))
            elif side or title != "else:":
                self.line(title)
                self.nested(side, version)
            unknown |= self._unknown
        self._unknown = unknown

    def _read_element(self, step: plan.Read) -> None:
        """Write a read from the device: a wait for several reads, and facts about lengths."""
        if not self.lines or not any(each in self.lines[-1] for each in ("rt.wait()", "rt.fact(")):
            self.line("rt.wait()")
        if (lengths := self._lengths.get(step.buffer)) is not None and self._knows(step.index):
            self._unknown.discard(step.name)
            self.line(f"{variable(step.name)} = rt.fact({variable(lengths)}, "
                      f"{index_text(step.index)})")
        else:
            self._unknown.add(step.name)

    def _scalar(self, step: plan.Step, version: str) -> None:
        """Write a step that sets scalars of the host, if later counts need them."""
        names = tuple(plan.sets(step))
        if self._needed.isdisjoint(names):
            return
        match step:
            case plan.Compute(name, "min", _, args):
                for arg in args:
                    if self._knows(arg) and not self._knows(args):
                        self._most.setdefault(name, arg)
            case plan.Bind(name, source) if source in self._most:
                self._most.setdefault(name, self._most[source])
        if all(self._knows(name) for name in names_in(step) if name not in names):
            self._unknown.difference_update(names)
            super().step(step, version)
        elif self.alike and isinstance(step, plan.Compute) and step.op == "min" and len(
                known := [a for a in step.args if self._knows(a)]) == 1:
            self._unknown.discard(step.name)
            super().step(plan.Bind(step.name, known[0]), version)
        else:
            self._unknown.update(names)

    def _knows(self, *things: object) -> bool:
        return self._unknown.isdisjoint(names_in(things))

    def _mark(self) -> str:
        """A new name for the cost so far."""
        name = f"before_{self.place}"
        self.line(f"{name} = rt.seconds")
        return name

    def _launch(self, step: plan.Launch, version: str) -> None:
        kernel, args = step.kernel, self._arguments(step)
        if step.facts is not None and step.args[step.facts.source] in self._lengths:
            source, target = (step.args[number] for number in step.facts)
            self._lengths[target] = self._lengths[source]
        if not self._knows(step.groups, step.group, kernel.constants,
                           [a.length for a in kernel.local_memory]):
            self.line(f"rt.unseen({kernel.name!r})")
            return
        shape = launch_shape(step)
        given = "".join(f", {UNKNOWN}" if name is None or name in self._unknown else
                        f", {variable(name)}" for name in args)
        teams = "" if kernel.teams is None else f", teams={variable(kernel.teams)}"
        self.line(f"rt.launch({kernel.name!r}, {shape.groups}, {shape.group}, ({shape.lengths})"
                  f"{given}{teams})")

    def _arguments(self, step: plan.Launch) -> list[VName | None]:
        """The arguments of a work function, in order; None for unused arguments."""
        kernel = step.kernel
        values = [*kernel.built_for, *(
            arg for arg, p in zip(step.args, kernel.params, strict=True)
            if isinstance(p, imp.ScalarParam))]
        if kernel.name not in self.works:
            self.works[kernel.name] = work_source(kernel)
        if kernel.name not in self._uses:
            self._uses[kernel.name] = arguments_used(self.works[kernel.name])
        return [value if uses and isinstance(value, VName) else None
                for value, uses in zip(values, self._uses[kernel.name], strict=True)]

    def _choose(self, step: plan.Choose) -> None:
        """Write an inner choice, which costs what the version costs that would run.

        The scalars that its versions compute are unknown, as none of them is followed here.
        """
        if not self._knows(self._asked_by(step)):
            self.line(f"rt.unseen({step.site!r})")
        else:
            self.line(f"rt.choice({step.site!r}, {self.met(step)})")
        self._unknown.update(name for each in step.versions for inner in plan.all_steps(each.steps)
                             for name in plan.sets(inner))

    def _loop(self, step: plan.CountedLoop | plan.WhileLoop, version: str) -> None:
        """Write a loop: one iteration that stands for all, or several if they differ."""
        if isinstance(step, plan.WhileLoop):
            self._while(step, version)
            return
        steady = step.carried is not None
        changing = _columns(step) | _carried(step.body)
        if not self._knows(step.bound):
            self.line(ONCE)
            self._unknown |= changing
            for inner in step.body:
                self.step(inner, version)
        elif steady or step.alike or changing.isdisjoint(self._needed_by(step.body)):
            self._unknown |= changing
            self._repeated(step, steady, version)
        else:
            self.line(f"for {variable(step.index)} in rt.iterations("
                      f"{_text(step.bound)}, {len(changing) > 1}):")
            self.nested(step.body, version, 1)

    def _while(self, step: plan.WhileLoop, version: str) -> None:
        """Write a loop whose condition the host computes, or one iteration of any other loop."""
        if step.in_buffer:
            self.line("rt.wait()")
        else:
            self._unknown = self._unknown_in(step, version)
        if step.in_buffer or not self._knows(step.cond):
            self.line(ONCE)
            later = {name for inner in plan.all_steps(step.body) for name in plan.sets(inner)}
            for name in sorted(_carried(step.body) & self._unknown & self._most.keys()):
                if self._most[name] not in later:  # else a loop inside begins with it
                    self._scalar(plan.Bind(name, self._most[name]), version)
            for inner in step.body:
                self.step(inner, version)
        else:
            self.line(f"for _ in rt.continued(lambda: {variable(step.cond)}):")
            self.nested(step.body, version, 1)

    def _unknown_in(self, step: plan.WhileLoop, version: str) -> set[VName]:
        """The scalars that are unknown at the start of some iteration of a loop.

        The body is followed until no more of them are found.  Loops may be nested deeply, so each
        result is kept.
        """
        key = id(step), frozenset(self._unknown)
        if key not in self._unknown_inside:
            known = -1
            while known != len(self._unknown):
                before, known = set(self._unknown), len(self._unknown)
                with self.forgotten():
                    self.steps(step.body, version)
                self._unknown |= before
            self._unknown_inside[key] = frozenset(self._unknown)
        return set(self._unknown_inside[key])

    def _repeated(self, step: plan.CountedLoop, steady: bool, version: str) -> None:
        """Write one iteration of a loop, multiplied by the number of iterations."""
        self.line(f"if {_text(step.bound)} > 0:")
        with self.block():
            before = self._mark()
            with self.in_parts(step.alike):
                for inner in step.body:
                    self.step(inner, version)
            self.line(f"rt.repeat({before}, {_text(step.bound)}, {steady})")

    def steps(self, steps: tuple[plan.Step, ...], version: str) -> None:
        """Write the code that counts steps; ``pass`` if nothing is to count."""
        before = len(self.lines)
        for step in steps:
            self.step(step, version)
        if len(self.lines) == before:
            self.line("pass")

    # The scalars that costs depend on

    def _needed_by(self, steps: Iterable[plan.Step]) -> Set[VName]:
        """The scalars that launches and the control around them depend on."""
        inside = list(_own_steps(steps))
        needed = {name for step in inside for name in self._asked_by(step)}
        setting = [(names, step) for step in inside if (names := tuple(plan.sets(step)))]
        while True:
            later = [each for each in setting if needed.isdisjoint(each[0])]
            if len(later) == len(setting):
                return needed
            for names, step in setting:
                if not needed.isdisjoint(names):
                    buffers = {step.buffer} if isinstance(step, plan.Read) else set()
                    needed.update(set(names_in(step)) - buffers)
            setting = later

    def _asked_by(self, step: plan.Step) -> set[VName]:
        """The scalars that the cost of a step depends on."""
        match step:
            case plan.Launch(kernel, _, groups, group):
                lengths = [array.length for array in kernel.local_memory]
                return {*names_in((groups, group, lengths, kernel.constants)),
                        *(name for name in self._arguments(step) if name is not None)}
            case plan.CopyBuffer(count=count):
                return set(names_in(count))
            case plan.Branch(cond) | plan.CountedLoop(bound=cond):
                return set(names_in(cond))
            case plan.WhileLoop(cond, in_buffer=False):
                return {cond}
            case plan.Choose(versions=versions, sizes=sizes, facts=facts):
                return {*sizes, *facts, *names_in([
                    (v.guard and v.guard.sizes(), [need.names() for need in v.needs])
                    for v in versions])}
        return set()


def _text(atom: object) -> str:
    """A scalar as a Python expression."""
    return variable(atom) if isinstance(atom, VName) else str(atom.value)  # type: ignore[attr-defined]


def _own_steps(steps: Iterable[plan.Step]) -> Iterator[plan.Step]:
    """The steps and all steps inside them, without calls and without the steps of versions."""
    for step in steps:
        if isinstance(step, plan.Recursion):
            yield from _own_steps(_outermost(step))
        elif not isinstance(step, plan.Call):
            yield step
        if not isinstance(step, plan.Recursion | plan.Choose):
            for body in plan.bodies(step):
                yield from _own_steps(body)


def _outermost(step: plan.Recursion) -> tuple[plan.Step, ...]:
    """The steps of the outermost call of a function, which stands for all calls."""
    given = zip(step.params, step.call.args, strict=True)
    return (*(plan.Bind(param.name, arg) for param, arg in given if param.shape is None),
            *step.body)


def _columns(loop: plan.CountedLoop) -> set[VName]:
    """The scalars that each iteration of a loop is given anew."""
    return {loop.index, *(() if loop.scalars is None else (n for n, _ in loop.scalars.columns))}


def _carried(body: Iterable[plan.Step]) -> set[VName]:
    """The names that an iteration passes on to the next iteration."""
    return {step.target for step in plan.all_steps(body) if isinstance(step, plan.Bind)}
