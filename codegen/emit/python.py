"""Host plans as Python source: one function per entry point, straight-line but for control.

The function takes the runtime ``rt`` (:class:`runelift.runtime.execution.run.Run`), which owns the
queue, the buffers and the records.  It takes the arguments out of a dictionary, since memory is
free when no variable holds it.  Steps left when everything has been issued are a second function
(:mod:`runelift.codegen.plan.epilogue`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from runelift.codegen.emit.python_blocks import Blocks
from runelift.codegen.emit.python_expressions import (
    atom_text,
    constraint_text,
    conversion_text,
    further,
    index_text,
    loc_text,
    operation_text,
    size_text,
    tuple_text,
    value_text,
    variable,
)
from runelift.codegen.passes.local_memory import CELL_BYTES, cells_of
from runelift.codegen.plan import plan
from runelift.codegen.plan.epilogue import epilogue_inputs, split_epilogue
from runelift.codegen.plan.free_scalars import FreeScalars
from runelift.codegen.plan.parameters import Parameter
from runelift.codegen.plan.shapes import Shape
from runelift.codegen.plan.write_sets import overwritten_buffers
from runelift.ir import imp
from runelift.ir.base import failures
from runelift.ir.base.deep import deeply
from runelift.ir.imp.traverse import loaded, variables
from runelift.ir.names import VName
from runelift.ir.prim import OPS

FUNCTION, EPILOGUE = "main", "ending"
"""The names of every plan's functions; the name of an entry point may be a keyword or a built-in.
"""


@dataclass(slots=True)
class Generated:
    """The Python source of a plan, and the objects that its code names by their index."""

    source: str
    launches: list[plan.Launch] = field(default_factory=list)
    launch_versions: list[str] = field(default_factory=list)
    sites: list[plan.Choose] = field(default_factory=list)
    operations: list[plan.Operation] = field(default_factory=list)


@deeply
def python_source(host: plan.Plan, *, replay: bool = False, trials: bool = False,
                  named: bool = False) -> Generated:
    """The Python function of a plan.

    ``replay``: at a choice all versions run one after the other, as often as ``rt.replays`` yields.
    Each starts from the same memory and variables; the last one's results are used.  ``trials``:
    operations can be run again and again, with other settings of their parameters.  ``named``: the
    runtime is told the name of each buffer, and asked what to do where a scalar is unknown.
    """
    writer = PlanWriter(replay=replay, trials=trials, named=named)
    writer.depth = 1
    for name in (*plan.DEVICE_SIZES, plan.COUNTERS):
        writer.line(f"{variable(name)} = rt.{name.base}")
    for size in host.sizes:
        writer.line(f"{variable(size)} = args.pop({str(size)!r})")
    for param in host.params:
        writer.line(f"{variable(param.name)} = args.pop({str(param.name)!r})")
    writer.settings(plan.parameters(host.steps))
    steps, late = split_epilogue(host)
    writer.steps(steps, host.entry)
    given = "".join(f", {variable(name)}" for name in epilogue_inputs(late, host.results))
    writer.line(f"return rt.conclude({EPILOGUE}{given})")
    lines = [f"def {FUNCTION}(rt, args):  # entry point {host.entry}", *writer.taken()]
    writer.epilogue(given, late, host)
    return Generated("\n".join([*lines, *writer.taken()]) + "\n", writer.launches,
                     writer.versions, writer.sites, writer.operations)


def scalars_source(host: plan.Plan, free: FreeScalars) -> str:
    """The Python function of the free scalars of a plan, and of the scalars derived from them.

    It takes the runtime and the arguments, which stay where they are.
    """
    writer = PlanWriter(replay=False, trials=False)
    writer.depth = 1
    for name in {**dict.fromkeys(free.params), **dict.fromkeys(free.given)}:
        writer.line(f"{variable(name)} = args[{str(name)!r}]")
    writer.steps(free.steps, host.entry)
    writer.line(f"return {tuple_text((*free.params, *free.derived))}")
    return "\n".join([f"def {FUNCTION}(rt, args):", *writer.taken()]) + "\n"


def _results(specs: tuple[plan.ValueSpec, ...]) -> str:
    return f"({', '.join(map(_result, specs))}{',' if len(specs) == 1 else ''})"


def _result(spec: plan.ValueSpec) -> str:
    if spec.shape is None:
        return variable(spec.name)
    shape = "".join(f"{atom_text(s)}, " for s in spec.shape)
    return f"rt.array({variable(spec.name)}, {spec.prim.value!r}, ({shape}))"


def _element(read: plan.Read) -> str:
    """The element that is read: a buffer, its type, and the index."""
    return f"({variable(read.buffer)}, {read.prim.value!r}, {index_text(read.index)})"


def _buffers(names: Sequence[VName]) -> str:
    """The buffers that the names stand for when the function is called."""
    return f"lambda: ({''.join(f'{variable(name)}, ' for name in names)})"


def _replay_result(spec: plan.ValueSpec) -> str:
    """A result of a version: its value or buffer, its type, and its shape if it is an array."""
    shape = None if spec.shape is None else f"({''.join(f'{atom_text(s)}, ' for s in spec.shape)})"
    return f"({variable(spec.name)}, {spec.prim.value!r}, {shape})"


class LaunchShape(NamedTuple):
    """The shape of a launch as Python expressions: groups, work-items of a group, local memory.

    ``lengths`` are the bytes of each local array, ``rooms`` the cells of each local array of teams.
    """

    groups: str
    group: str
    lengths: str
    rooms: list[str]


def launch_shape(step: plan.Launch) -> LaunchShape:
    """The shape in which the host launches a kernel."""
    groups, group = size_text(step.groups), size_text(step.group)
    if step.kernel.teams is None:
        return LaunchShape(groups, group, "".join(
            f"({size_text(a.length)}) * {a.prim.bytes}, " for a in step.kernel.local_memory), [])
    teams = variable(step.kernel.teams)
    rooms = [size_text(cells_of(a)) for a in step.kernel.local_memory]
    return LaunchShape(f"-(-({groups}) // {teams})", f"({group})*{teams}",
                       "".join(f"({room}) * {CELL_BYTES}*{teams}, " for room in rooms), rooms)


class PlanWriter(Blocks):
    """Writes the steps of a plan as lines of Python."""

    def __init__(self, *, replay: bool, trials: bool, named: bool = False) -> None:
        super().__init__()
        self.replay = replay
        self.trials = trials
        self.named = named
        self.launches: list[plan.Launch] = []
        self.versions: list[str] = []
        self.sites: list[plan.Choose] = []
        self.operations: list[plan.Operation] = []
        self.least_of_points = dict[VName, int]()
        """The bytes that a function takes for each point, at least."""
        self.changing = frozenset[VName]()
        """The scalars that differ between iterations of the loops around."""
        self.alike = False
        """True in a loop over parts: the least of an unknown and a known number bounds a part."""

    def settings(self, parameters: tuple[Parameter, ...]) -> None:
        """Write the assignment of all parameters of an operation."""
        if parameters:
            self.line("(")
            for parameter in parameters:
                self.line(f"    {variable(parameter.variable)},  # {parameter.name}")
            self.line(") = rt.settings")

    def epilogue(self, given: str, steps: tuple[plan.Step, ...], host: plan.Plan) -> None:
        """Write the function of the steps that remain when all commands have been issued."""
        self.depth = 0
        self.line(f"def {EPILOGUE}(rt{given}):")
        self.depth = 1
        if steps:
            self.steps(steps, host.entry)
        self.line(f"return {_results(host.results)}")

    def steps(self, steps: tuple[plan.Step, ...], version: str) -> None:
        """Write the steps of a block."""
        if not steps:
            self.line("pass")
        reads, released = list[plan.Read](), list[VName]()
        for step in steps:
            if isinstance(step, plan.Read) and variables(step.index).isdisjoint(
                    read.name for read in reads):
                reads.append(step)
            elif isinstance(step, plan.Release) and reads:
                released += step.names
            else:
                self._read(reads, released)
                reads, released = [step] if isinstance(step, plan.Read) else [], []
                if not reads:
                    self.step(step, version)
        self._read(reads, released)

    def _read(self, reads: Sequence[plan.Read], released: Sequence[VName]) -> None:
        """Write reads for which the host waits once, and the release of buffers after them."""
        if reads:
            names = "".join(f"{variable(step.name)}, " for step in reads)
            self.line(f"{names}= rt.reads({''.join(f'{_element(step)}, ' for step in reads)})")
        if released:
            self.step(plan.Release(tuple(released)), "")

    def nested(self, steps: tuple[plan.Step, ...], version: str, controls: int = 0) -> None:
        """Write a block inside the present one, with so many loops and ``try`` around."""
        with self.block(controls):
            self.steps(steps, version)

    def looped(self, body: tuple[plan.Step, ...], version: str, *given: VName) -> None:
        """Write the body of a loop, whose iterations set ``given``."""
        around = self.changing
        self.changing = around.union(given, plan.set_in(body))
        self.nested(body, version, 1)
        self.changing = around

    @contextmanager
    def in_parts(self, alike: bool) -> Iterator[None]:
        """Write the body of a loop, whose iterations may be ``alike`` to the host."""
        around, self.alike = self.alike, self.alike or alike
        yield
        self.alike = around

    def step(self, step: plan.Step, version: str) -> None:
        """Write a step of a version."""
        match step:
            case plan.Alloc(name, prim, count):
                made = f"rt.allocate(({size_text(count)}) * {prim.bytes})"
                self.line(f"{variable(name)} = "
                          + (f"rt.named({made}, {str(name)!r})" if self.named else made))
            case plan.Release(names):
                self.line("".join(f"{variable(n)} = " for n in names) + "None")
            case plan.CopyBuffer(target, source, prim, count, start):
                offset = "" if start == plan.FROM_START else f", {index_text(start)} * {prim.bytes}"
                self.line(f"rt.copy({variable(target)}, {variable(source)}, "
                          f"({size_text(count)}) * {prim.bytes}{offset})")
            case plan.Compute():
                self._compute(step)
            case plan.ConvertScalar(name, from_, to, arg):
                self._set(name, conversion_text(from_, to, atom_text(arg)))
            case plan.ComputeSize(name, size):
                self._set(name, size_text(size))
            case plan.SlabSize(name, each, longest):
                self._set(name, f"rt.slab_size({atom_text(each)}, {atom_text(longest)})")
            case plan.Bind(target, source):
                self.line(f"{variable(target)} = {atom_text(source)}")
            case plan.Check(cond, message, args, loc):
                given = "".join(f", {atom_text(a)}" for a in args)
                holds = f"rt.known({atom_text(cond)}, True)" if self.named else atom_text(cond)
                self.line(f"if not {holds}: rt.fail({loc_text(loc)}, {message!r}{given})")
            case plan.Launch():
                self._launch(step, version)
            case plan.AllocScanStatus(name, words):
                self.line(f"{variable(name)} = rt.statuses({size_text(words)})")
            case Shape():
                asked = "".join(f", {name}={value_text(value)}"
                                for name, value in step.asked(self.changing).items())
                answers = ", ".join(map(value_text, step.answers()))
                self.line(f"{answers}{',' * (',' not in answers)} = "
                          f"rt.shape({type(step).__name__!r}{asked})")
            case _:
                self._control(step, version)

    def _control(self, step: plan.Step, version: str) -> None:
        """Write a step that has steps inside, or that tracks such steps."""
        match step:
            case plan.Operation(_, parameters, steps):
                if self.trials and parameters:
                    self._trials(step, version)
                elif steps:
                    self.steps(steps, version)
            case plan.Branch(cond, then_, else_):
                self.line(f"if {atom_text(cond)}:")
                self.nested(then_, version)
                if else_:
                    self.line("else:")
                    self.nested(else_, version)
            case plan.LazyCopy(name):
                self.line(f"{variable(name)} = None")
            case plan.Fill(name, steps):
                self.line(f"if {variable(name)} is None:")
                self.nested(steps, version)
            case plan.CountedLoop() | plan.WhileLoop():
                self._loop(step, version)
            case plan.Recursion():
                self._recursion(step, version)
            case plan.Call(loc=loc):
                depth, least = f"{_depth(step)} + 1", self.least_of_points[step.function]
                points = f", {atom_text(step.args[0])}, {least}" if least else ""
                self.line(f"rt.deeper({depth}, {loc_text(loc)}, {step.function.base!r}{points})")
                self._call(step, depth)
            case plan.Choose():
                self._choose(step)
            case plan.Commit() if self.replay:
                self.line("pass")  # versions are replayed from memory as it was
            case plan.Commit(sites):
                numbers = [n for n, s in enumerate(self.sites) if s.site in sites]
                self.line("".join(f"settled_{n} = " for n in numbers) + "True")

    def _loop(self, step: plan.CountedLoop | plan.WhileLoop, version: str) -> None:
        """Write a loop; the runtime may run all its iterations by one kernel."""
        match step:
            case plan.CountedLoop(index, bound, body, carried, None):
                first = "rt.first" if self.named and step.alike else "range"
                iterations = (f"{first}({atom_text(bound)})" if carried is None
                              else f"rt.rounds({atom_text(bound)}, {_buffers(carried)})")
                self.line(f"for {variable(index)} in {iterations}:")
                with self.in_parts(step.alike):
                    self.looped(body, version, index)
            case plan.CountedLoop(index, bound, body, carried, loop_scalars):
                assert carried is not None
                assert loop_scalars is not None
                scalars = f"course_{index.tag}"
                self._loop_scalars(scalars, index, loop_scalars, version)
                names = (index, *(column for column, _ in loop_scalars.columns))
                self.line(f"for {tuple_text(names)} in "
                          f"rt.rounds({atom_text(bound)}, {_buffers(carried)}, {scalars}):")
                self.looped(body, version, *names)
                if loop_scalars.carried:
                    self.line(f"{tuple_text(loop_scalars.carried)} = {scalars}.carried")
            case plan.WhileLoop(cond, body, in_buffer, carried):
                again = f"rt.read({variable(cond)}, 'bool', 0)" if in_buffer else variable(cond)
                if self.named and carried is None:
                    again = f"rt.goes_on({self.place + 1}, {again})"
                self.line(f"while {again}:" if carried is None else "for _ in rt.rounds_while("
                          f"lambda: {variable(cond)}, {_buffers(carried)}):")
                self.looped(body, version)

    def _recursion(self, step: plan.Recursion, version: str) -> None:
        """Write a function that calls itself, and the call of it."""
        # late: only plans of functions that call themselves ask for it
        from runelift.codegen.plan.memory import least_of_points

        params = "".join(f"{variable(param.name)}, " for param in step.params)
        sites = len(self.sites)
        self.least_of_points[step.call.function] = least_of_points(step)
        self.line(f"def {_function(step.call)}({_depth(step.call)}, given):")
        with self.function():
            if params:
                self.line(f"{params}= given")
                self.line("given.clear()")  # its caller keeps no memory that is not needed
            self.steps(step.body, version)
            self.line(f"return ({''.join(f'{variable(name)}, ' for name in step.results)})")
            if outer := _set_outside(step, self.sites[:sites]):
                self.lines.insert(0, "    nonlocal " + ", ".join(outer))
        self._call(step.call, "0")
        self.line("rt.returned()")

    def _call(self, step: plan.Call, depth: str) -> None:
        args = f"[{', '.join(map(atom_text, step.args))}]"
        if step.last:
            self.line(f"given_{step.function.tag} = {args}")
            args = f"given_{step.function.tag}"
            self.step(plan.Release(step.last), "")
        outs = "".join(f"{variable(out.name)}, " for out in step.outs)
        self.line(f"{outs}{'= ' * bool(outs)}{_function(step)}({depth}, {args})")

    def _loop_scalars(self, name: str, index: VName, scalars: plan.LoopScalars,
                      version: str) -> None:
        """Write a function that computes the scalars of an iteration, and their initial values."""
        self.line(f"def {name}({variable(index)}{further(scalars.carried)}):")
        self.depth += 1
        for step in scalars.steps:
            self.step(step, version)
        sources = {step.target: step.source for step in scalars.following}
        following = tuple(sources.get(scalar, scalar) for scalar in scalars.carried)
        columns = tuple_text(column for column, _ in scalars.columns)
        self.line(f"return {columns}, {tuple_text(following)}")
        self.depth -= 1
        prims = "".join(f"{prim.value!r}, " for _, prim in scalars.columns)
        self.line(f"{name} = rt.course({name}, ({prims}), {tuple_text(scalars.carried)})")

    def _compute(self, step: plan.Compute) -> None:
        args = [atom_text(a) for a in step.args]
        if OPS[step.op].traps and step.prim.is_int:
            fail = f"rt.fail({loc_text(step.loc)}, {failures.DIVISION!r})"
            divisor = step.args[1]
            if isinstance(divisor, VName):
                zero = f"rt.known({args[1]}, 1)" if self.named else args[1]
                self.line(f"if {zero} == 0: {fail}")
            elif divisor.value == 0:
                self.line(fail)
                return
        if self.named and self.alike and step.op == "min":
            self.line(f"{variable(step.name)} = rt.least({', '.join(args)})")
            return
        self._set(step.name, operation_text(step.op, step.prim, args))

    def _set(self, name: VName, exp: str) -> None:
        """Write an assignment of a Python expression to a scalar."""
        self.line(f"{variable(name)} = {f'rt.computed(lambda: {exp})' if self.named else exp}")

    def _launch(self, step: plan.Launch, version: str) -> None:
        number = len(self.launches)
        self.launches.append(step)
        self.versions.append(version)
        shape = launch_shape(step)
        args = "".join(f", {atom_text(a)}" + (".handle" if isinstance(p, imp.BufferParam) else "")
                       for a, p in zip(step.args, step.kernel.params, strict=True))
        args += "".join(f", {room}" for room in shape.rooms)
        launch = f"launch({number}, "
        if built_for := step.kernel.built_for:
            launch = f"launch_built({number}, ({', '.join(map(variable, built_for))},), "
        self.line(f"rt.{launch}{shape.groups}, {shape.group}, ({shape.lengths}){args})  # {step}")

    def _trials(self, step: plan.Operation, version: str) -> None:
        """Write a loop over settings of an operation, which restores the buffers that change."""
        settings = "".join(f"{variable(p.variable)}, " for p in step.parameters)
        fills, steps = plan.apart_from_fills(step.steps)
        self.steps(fills, version)
        read, written = (", ".join(map(variable, names)) for names in _accessed(steps))
        self.line(f"for {settings}in rt.trials({len(self.operations)}, [{read}], [{written}]):")
        self.operations.append(step)
        self.depth += 1
        self.line("try:")
        self.nested((*step.early, *steps), version, 2)
        self.line("except rt.CannotRun as reason:")
        self.depth += 1
        if allocated := set(_allocated(steps)):
            self.step(plan.Release(tuple(sorted(allocated, key=lambda n: n.tag))), "")
        self.line("if rt.gives_up(reason): raise")
        self.depth -= 2

    def _choose(self, step: plan.Choose) -> None:
        site = len(self.sites)
        self.sites.append(step)
        met = f"{site}, {self.met(step)}"
        if self.replay:
            self._replayed(step, site, met)
        else:
            self._chosen(step, site, met)

    def met(self, step: plan.Choose) -> str:
        """The numbers at an encounter: sizes of guards, facts, local memory, and recorded sizes."""
        pars = "".join(f"{size_text(v.guard.par) if v.guard else 0}, " for v in step.versions)
        facts = "".join(f"{variable(name)}, " for name in step.facts)
        local = "".join(f"{_need(v)}, " for v in step.versions)
        sizes = ", ".join(f"{str(s)!r}: {variable(s)}" for s in step.sizes)
        return f"({pars}), ({facts}), ({local}), {{{sizes}}}"

    def _chosen(self, step: plan.Choose, site: int, met: str) -> None:
        """Write a loop that tries versions until one could run."""
        commits = any(isinstance(s, plan.Commit) and step.site in s.sites
                      for s in plan.all_steps([step]))
        if commits:
            self.line(f"settled_{site} = False")
        self.line(f"for version_{site} in rt.encounter({met}):")
        self.depth += 1
        self._attempt(step, site, [f"rt.leave({site})", "break"],
                      [f"if settled_{site}: raise"] if commits else [])
        self.depth -= 1
        self.line(f"else: rt.none_left({site})")

    def _replayed(self, step: plan.Choose, site: int, met: str) -> None:
        """Run all versions from the same start; lazy copies that one has made stay."""
        changed = "".join(f"{variable(name)}, " for name in overwritten_buffers([step]))
        lazy = "".join(f"{variable(name)}, " for name in _lazy_copies(step))
        if lazy:
            self.line(f"unfilled_{site} = filled_{site} = {lazy}")
        self.line(f"for version_{site} in rt.replays({met}, ({changed})):")
        self.depth += 1
        if lazy:
            self.line(f"{lazy}= unfilled_{site}")
        filled = [f"filled_{site} = rt.either(filled_{site}, ({lazy}))"] if lazy else []
        results = "".join(f"{_replay_result(spec)}, " for spec in step.results)
        self._attempt(step, site, [*filled, f"rt.leave_replayed({site}, ({results}))"], [])
        self.depth -= 1
        if lazy:
            self.line(f"{lazy}= filled_{site}")
            self.line(f"unfilled_{site} = filled_{site} = ()")  # else they keep what is released

    def _attempt(self, step: plan.Choose, site: int, done: list[str], failed: list[str]) -> None:
        """Run the chosen version, with lines for success and for failure."""
        self.line("try:")
        self.depth += 1
        feasible = [(n, v) for n, v in enumerate(step.versions) if v.infeasible is None]
        for number, version in feasible:
            keyword = "if" if number == feasible[0][0] else "elif"
            self.line(f"{keyword} version_{site} == {number}:  # {version.kind.value}")
            self.nested(version.steps, f"{step.site}/{number}", 2)
        for line in done:
            self.line(line)
        self.depth -= 1
        self.line("except rt.CannotRun as reason:")
        self.depth += 1
        allocated = {n for _, v in feasible for n in _allocated(v.steps)}
        if allocated:
            self.step(plan.Release(tuple(sorted(allocated, key=lambda n: n.tag))), "")
        inside = [k for k in range(site + 1, len(self.sites)) if _lazy_copies(self.sites[k])]
        if self.replay and inside:
            self.line("".join(f"unfilled_{k} = filled_{k} = " for k in inside) + "()")
        self.line(f"rt.abandon({site}, version_{site}, reason)")
        for line in failed:
            self.line(line)
        self.depth -= 1


def _function(call: plan.Call) -> str:
    """The Python function that is called; its name in the program may be none in Python."""
    return f"function_{call.function.tag}"


def _depth(call: plan.Call) -> str:
    """The variable with the number of calls around a call of a function."""
    return f"depth_{call.function.tag}"


def _set_outside(step: plan.Recursion, sites: Sequence[plan.Choose]) -> list[str]:
    """The variables of the function around that the function of a recursion sets.

    They are lazy copies, and flags of the choices ``sites`` around.
    """
    inside = list(plan.all_steps(step.body))
    own = {each.name for each in inside if isinstance(each, plan.LazyCopy)}
    filled = {each.name for each in inside if isinstance(each, plan.Fill)} - own
    settled = {name for each in inside if isinstance(each, plan.Commit) for name in each.sites}
    return [*map(variable, sorted(filled, key=lambda name: name.tag)),
            *(f"settled_{n}" for n, site in enumerate(sites) if site.site in settled)]


def _need(version: plan.PlanVersion) -> str:
    """The local memory that each need of a version takes, as a Python expression.

    It is more than any device has where no group is large enough, or the guard's needs are not met.
    """
    bytes_ = f"({''.join(f'{_least_bytes(need)}, ' for need in version.needs)})"
    if version.guard is not None and version.guard.needs:
        needs = " and ".join(map(constraint_text, version.guard.needs))
        bytes_ = f"({bytes_} if {needs} else rt.unmet)"
    return bytes_


def _least_bytes(need: plan.Need) -> str:
    """The least local memory of the launches of which one must be possible."""
    asked = dict.fromkeys(
        size_text(launch.local_bytes) if launch.shaped is None else
        f"({size_text(launch.local_bytes)} if {variable(launch.shaped)} else rt.never)"
        for launch in need.launches)
    least = f"min({', '.join(asked)})" if len(asked) > 1 else next(iter(asked))
    when = " and ".join(variable(cond) if holds else f"not {variable(cond)}"
                        for cond, holds in need.when)
    return f"({least} if {when} else 0)" if when else least


def _accessed(steps: tuple[plan.Step, ...]) -> tuple[list[VName], list[VName]]:
    """The buffers from outside that launches may read, and the buffers that they may write."""
    found: tuple[dict[VName, None], dict[VName, None]] = ({}, {})
    own = {plan.COUNTERS, *_allocated(steps)}
    for step in plan.all_steps(steps):
        match step:
            case plan.AllocScanStatus(name):
                own.add(name)
            case plan.Launch(kernel, args):
                for param, arg in zip(kernel.params, args, strict=True):
                    if isinstance(param, imp.BufferParam) and isinstance(arg, VName):
                        if param.written:
                            found[1][arg] = None
                        if not param.written or param.name in loaded(kernel.body):
                            found[0][arg] = None
            case plan.CopyBuffer(target, source):
                found[0][source] = found[1][target] = None
    read, written = ([n for n in names if n not in own] for names in found)
    return read, written


def _allocated(steps: tuple[plan.Step, ...]) -> Iterator[VName]:
    """The names that may hold memory which ``steps`` allocate."""
    for step in plan.all_steps(steps):
        match step:
            case plan.Alloc(name) | plan.Bind(name):
                yield name
            case plan.Call(outs=outs) | plan.Recursion(call=plan.Call(outs=outs)):
                yield from (out.name for out in outs)


def _lazy_copies(choice: plan.Choose) -> list[VName]:
    """The lazy copies that versions may make."""
    filled = {step.name for step in plan.all_steps([choice]) if isinstance(step, plan.Fill)}
    inside = {step.name for step in plan.all_steps([choice]) if isinstance(step, plan.LazyCopy)}
    return sorted(filled - inside, key=lambda name: name.tag)
