"""Runs a lowered segmented operation on Oclgrind, and what the interpreter says about it.

Plan steps are executed one by one, with tiny device constants so that small data reaches every
way of sharing out work.  Oclgrind checks accesses, races and barriers; what it finds is a failure.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyopencl as cl
import pytest

import runelift
from runelift.codegen.emit.opencl import opencl_program
from runelift.codegen.emit.signatures import FAILURE_ARGS, count_barrier_calls
from runelift.codegen.hostplan.dispatch import lower_segop
from runelift.codegen.passes.local_memory import CELL_BYTES, cells_of
from runelift.codegen.plan import plan
from runelift.codegen.plan.shapes import (
    MapWidth,
    ProductTileShape,
    ScanTileShape,
    SegmentBlockShape,
    Shape,
    StripShape,
    TeamCount,
)
from runelift.codegen.plan.views import View, row_major
from runelift.ir import imp
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.guards import Kind
from runelift.ir.imp.check import check as imp_check
from runelift.ir.imp.interpret import Launch
from runelift.ir.imp.interpret import run as imp_run
from runelift.ir.interpret import interpret_fun
from runelift.ir.meaning import apply
from runelift.ir.names import Names, VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.sizes import Size
from runelift.ir.syntax import (
    Body,
    Fun,
    Index,
    Level,
    Operator,
    Param,
    SegDim,
    SegHist,
    SegMap,
    SegOp,
    SegScatter,
    SliceDim,
    Stm,
)
from runelift.ir.syntax import Lambda as Lam
from runelift.ir.syntax import PrimOp as Op
from runelift.ir.types import ArrayType, Atom, Const, Type, array_of, elem_of, i64, shape_of
from runelift.runtime.devices.info import find_devices
from runelift.runtime.devices.limits import ShareLimits
from runelift.runtime.geometry.launch_geometry import SHAPES, geometry_of
from runelift.runtime.geometry.map_width import MapWidthAnswer
from runelift.runtime.geometry.product_tile import ProductTileAnswer
from runelift.runtime.geometry.scan_tile import ScanTileAnswer
from runelift.runtime.geometry.segment_block import SegmentBlockAnswer
from runelift.runtime.geometry.shape import GeometryLimits
from runelift.runtime.geometry.strip import StripAnswer
from runelift.runtime.geometry.team_count import TeamCountAnswer
from runelift.runtime.tools.testing.sanitizer import complaints
from tests import programs

MODEL = "model"
"""Where the interpreter of the imperative IR runs kernels."""

ROWS = VName("rows", -3)
"""How many rows of a block a work-item has, see :class:`ProductTileShape`."""

SLABS = VName("slabs", -6)
"""How many slabs have room, see :class:`ProductTileShape`."""

ACROSS, DEPTH = VName("across", -21), VName("depth", -22)
"""How many work-items a block has in a row, and how deep its slabs are."""

COLUMNS = 2
"""How many columns a work-item reduces at a time, see :class:`StripShape`."""

STAGED, CHUNK, WINDOW, PATIENCE = (
    VName(base, -tag) for tag, base in enumerate(("staged", "chunk", "window", "patience"), 10))
"""How groups scan tiles, see :class:`ScanTileShape`."""

TEAMS = VName("teams", -4)
"""How many groups run side by side, see :class:`TeamCount`."""

WIDTH = VName("width", -5)
"""How many points of a map a work-item has, see :class:`MapWidth`."""

COHERENT = VName("coherent", -7)
"""1 if groups see what others wrote in the same launch."""
LOCKSTEP = VName("lockstep", -20)
"""1 if kernels are for devices that run neighbouring work-items together; Oclgrind is one."""
FLAT = VName("flat", -8)
"""1 if they lie as in one dimension, 2 if they are a row, see :class:`MapWidth`."""

DEVICE = {plan.GROUP_SIZE: 4, plan.NUM_GROUPS: 2, plan.SEQUENTIAL_SEGMENT: 3,
          plan.LOCAL_BYTES: 256, plan.MAX_GROUP: 8, COHERENT: 0, ROWS: 0,
          STAGED: 1, CHUNK: 2, WINDOW: 4, PATIENCE: 0, TEAMS: 1, WIDTH: 1, FLAT: 0,
          SLABS: 1, ACROSS: 2, DEPTH: 2}

SHARES = ShareLimits(lanes=2, group=4, max_group=4, chunk=2, max_chunk=16, staged=True, tile=1)


# Devices


def lockstep(source: str, device: str) -> runelift.Program:
    """A program on a device that is taken for one that runs work-items in lockstep.

    PoCL does not optimise its kernels with barriers, which takes most of the time of a test.
    """
    return programs.program(source, device, interleaves=True, num_groups=2, group_size=4,
                            optimised_size=0)


def in_lockstep_or_not(source: str) -> dict[str, runelift.Program]:
    """A program on two devices taken for ones that run in lockstep, and on one as it is."""
    return {name: lockstep(source, name) for name in ("oclgrind", "Portable")} | {
        "as it is": programs.program(source, "Portable")}


# Writing IR


@dataclass(slots=True)
class Builder:
    """Statements under construction, and the names of a test's program."""

    names: Names = field(default_factory=lambda: Names(100))
    stms: list[Stm] = field(default_factory=list)

    def fresh(self, base: str) -> VName:
        return self.names.fresh(base)

    def let(self, type_: Type, exp: Any, base: str = "t") -> VName:
        name = self.fresh(base)
        self.stms.append(Stm((Param(name, type_),), exp))
        return name

    def lets(self, types: Sequence[Type], exp: Any, base: str = "t") -> list[VName]:
        pat = tuple(Param(self.fresh(base), t) for t in types)
        self.stms.append(Stm(pat, exp))
        return [p.name for p in pat]

    def add(self, x: Atom, y: Atom) -> VName:
        return self.op("add", Prim.I64, x, y)

    def mul(self, x: Atom, y: Atom) -> VName:
        return self.op("mul", Prim.I64, x, y)

    def function(self, f: Callable[..., Atom], count: int = 1) -> Lam:
        """A function on i64s; ``f`` gets a builder and the parameters."""
        inner, params = self.inner(), [self.fresh("p") for _ in range(count)]
        result = f(inner, *params)
        return inner.lam([(p, Prim.I64) for p in params], [Prim.I64], result)

    def op(self, name: str, prim: Prim, *args: Atom) -> VName:
        return self.let(OPS[name].result(prim), Op(name, prim, args))

    def inner(self) -> Builder:
        """Statements of a nested body."""
        return Builder(self.names)

    def body(self, *result: Atom) -> Body:
        return Body(tuple(self.stms), result)

    def lam(self, params: Sequence[tuple[VName, Type]], ret: Sequence[Type],
            *result: Atom) -> Lam:
        return Lam(tuple(Param(n, t) for n, t in params), self.body(*result), tuple(ret))

    def operator(self, name: str, prim: Prim, neutral: int | float | bool, *,
                 comm: bool = True) -> Operator:
        """A row of the table of primitive operations as an operator."""
        inner, x, y = self.inner(), self.fresh("x"), self.fresh("y")
        lam = inner.lam([(x, prim), (y, prim)], [prim], inner.op(name, prim, x, y))
        return Operator(lam, (Const(neutral, prim),), comm)

    def affine(self, prim: Prim = Prim.I64) -> Operator:
        """Composition of x -> a x + b: associative, not commutative, on pairs."""
        inner = self.inner()
        a, b, c, d = (self.fresh(base) for base in "abcd")
        scaled = inner.op("mul", prim, c, b)
        lam = inner.lam([(a, prim), (b, prim), (c, prim), (d, prim)], [prim, prim],
                        inner.op("mul", prim, c, a), inner.op("add", prim, scaled, d))
        return Operator(lam, (Const(1, prim), Const(0, prim)))


def slice_all(size: Atom) -> SliceDim:
    """The whole of a dimension."""
    return SliceDim(i64(0), size, i64(1))


@dataclass(slots=True)
class Rows:
    """A matrix ``xs : [n][m]i64``, and a body with one row of it per point ``i < n``."""

    n: VName
    m: VName
    i: VName
    row: VName
    args: dict[Param, Any]
    body: Builder

    @property
    def row_type(self) -> ArrayType:
        return ArrayType(Prim.I64, (self.m,))

    def space(self) -> tuple[SegDim, ...]:
        return (SegDim(self.i, self.n),)

    def check(self, results: Sequence[Atom], ret: Sequence[Type],
              level: Level = Level.GRID, on: str = "Oclgrind") -> None:
        """Kernels and interpreter agree about the results of the body at every point."""
        exp = SegMap(level, self.space(), self.body.body(*results), tuple(ret))
        agree(exp, [array_of((self.n,), t) for t in ret], self.args, self.body.names, on=on)

    def failure(self, results: Sequence[Atom], ret: Sequence[Type],
                level: Level = Level.GRID) -> str:
        """The message with which the kernels fail."""
        exp = SegMap(level, self.space(), self.body.body(*results), tuple(ret))
        pat = tuple(Param(self.body.fresh("out"), array_of((self.n,), t)) for t in ret)
        with pytest.raises(ProgramFailure) as failure:
            lowered_results(Stm(pat, exp), self.args, self.body.names, DEVICE)
        return str(failure.value)


def rows(n: int = 5, m: int = 6) -> Rows:
    """Small numbers, the same in every run."""
    b = Builder()
    nv, mv, xs, i = (b.fresh(base) for base in ("n", "m", "xs", "i"))
    data = np.random.default_rng(n + 10 * m).integers(-9, 10, (n, m))
    args = {Param(nv, Prim.I64): n, Param(mv, Prim.I64): m,
            Param(xs, ArrayType(Prim.I64, (nv, mv))): data}
    row = b.let(ArrayType(Prim.I64, (mv,)), Index(xs, (i, slice_all(mv))), "row")
    return Rows(nv, mv, i, row, args, b)


# Running


@dataclass(frozen=True, slots=True)
class Host:
    """What the host knows: the types of the arguments."""

    types: Mapping[VName, Type]
    interleave: bool = False
    coherent: bool = False
    loops: int = 0

    def type(self, name: VName) -> Type:
        return Prim.I64 if name in plan.DEVICE_SIZES else self.types[name]

    def view(self, name: VName) -> View:
        type_ = self.types[name]
        return row_major(name, elem_of(type_), tuple(
            imp.Lit(s) if isinstance(s, Const) else imp.Var(s) for s in shape_of(type_)))

    def prologue(self, used: Iterable[VName]) -> list[imp.Declare]:
        return []


@dataclass(slots=True)
class Platform:
    """A device to run on; Oclgrind logs what it objects to."""

    context: Any
    queue: Any
    log: Path

    def complaints(self) -> str:
        """What was logged since the last call, but for what locks keep apart."""
        text = self.log.read_text()
        os.truncate(self.log, 0)
        return "\n".join("\n".join((header, *block))
                         for header, block in complaints(text.replace("\0", "")))


@cache
def platform(name: str) -> Platform | None:
    """The first device of an OpenCL platform, if it is installed; Oclgrind with its checks."""
    log = Path(tempfile.mkdtemp(prefix="runelift-oclgrind-")) / "log"
    log.touch()
    checks = {"OCLGRIND_LOG": str(log), "OCLGRIND_DATA_RACES": "1",
              "OCLGRIND_ARRAY_BOUNDS": "1",
              "OCLGRIND_MAX_ERRORS": "20000", "OCLGRIND_STOP_ERRORS": "20000"}
    for info in find_devices():
        if name in info.platform and info.problem is None:
            with mock.patch.dict(os.environ, checks):
                context = cl.Context([info.handle])
            return Platform(context, cl.CommandQueue(context), log)
    return None


def usable(name: str) -> Platform:
    """The platform; skips the test where it is missing."""
    found = platform(name)
    if found is None:
        pytest.skip(f"no usable {name} device")
    return found


def noted(monkeypatch: pytest.MonkeyPatch, shape: str, size: str) -> list[int]:
    """The values of a size of a launch shape that devices choose from now on."""
    found, geometry = list[int](), SHAPES[shape]

    def choose(asked: Any, limits: GeometryLimits) -> tuple[Any, ...]:
        answer = geometry.choose(asked, limits)
        found.append(getattr(answer, size))
        return answer

    monkeypatch.setitem(SHAPES, shape, replace(geometry, choose=choose))
    return found


def flat(answer: tuple[Any, ...]) -> Iterator[int]:
    """The sizes of an answer to a launch shape, those of chunks among them."""
    for each in answer:
        if isinstance(each, tuple):
            yield from flat(each)
        else:
            yield each


class Machine:
    """Executes plan steps; the launches themselves are a subclass's business."""

    shares = SHARES

    def __init__(self, scalars: dict[VName, int], device: Mapping[VName, int]) -> None:
        self.scalars: dict[VName, Any] = {**scalars, **device}
        self.buffers: dict[VName, Any] = {}
        self.put(plan.COUNTERS, np.zeros(device[plan.NUM_GROUPS], np.int32))
        self.failure: tuple[str, tuple[int, ...]] | None = None

    def put(self, name: VName, data: np.ndarray[Any, Any]) -> None:
        """A buffer with these elements."""
        raise NotImplementedError

    def get(self, name: VName, prim: Prim, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        """The elements of a buffer."""
        raise NotImplementedError

    def allocate(self, name: VName, prim: Prim, count: int) -> None:
        """A buffer with any elements."""
        raise NotImplementedError

    def launch(self, step: plan.Launch) -> None:
        """Run a kernel."""
        raise NotImplementedError

    def size(self, size: Size) -> int:
        return size.value(self.scalars)

    def atom(self, atom: Atom) -> Any:
        return atom.value if isinstance(atom, Const) else self.scalars[atom]

    def run(self, steps: Sequence[plan.Step]) -> None:
        for step in steps:
            match step:
                case plan.Alloc(name, prim, count):
                    self.allocate(name, prim, self.size(count))
                case plan.Release(names):
                    for name in names:
                        del self.buffers[name]
                case plan.ComputeSize(name, size):
                    self.scalars[name] = self.size(size)
                case plan.Compute(name, op, prim, args):
                    self.scalars[name] = apply(op, prim, *map(self.atom, args))
                case plan.Branch(cond, then_, else_):
                    self.run(then_ if self.atom(cond) else else_)
                case plan.AllocScanStatus(name, words):
                    if name not in self.buffers:
                        self.put(name, np.zeros(self.size(words), np.uint64))
                case Shape():
                    self.scalars.update(zip(step.names(), flat(self.answer(step)), strict=True))
                case plan.CopyBuffer(target, source, prim, count):
                    self.put(target, self.get(source, prim, (self.size(count),)))
                case plan.Launch():
                    self.launch(step)
                case plan.Operation(_, parameters, inner):
                    for each in parameters:
                        self.scalars[each.variable] = self.atom(
                            plan.PARAMETER_DEFAULTS.get(each.quantity, i64(0)))
                    self.run(inner)
                case plan.Commit():
                    pass
                case plan.Choose(_, versions):
                    self.run(self.choose(versions).steps)
                case _:
                    self.control(step)

    def answer(self, step: Shape) -> tuple[Any, ...]:
        """The answer to a launch shape: small sizes, or what the runtime answers."""
        early = {name for name, atom in step.settings().items()
                 if isinstance(atom, VName) and atom not in self.scalars}
        asked = {name: self.value(value) for name, value in step.asked().items()
                 if name not in early}
        match step:
            case TeamCount():
                return TeamCountAnswer(self.scalars[TEAMS],
                                       int(asked["groups"] % self.scalars[TEAMS] == 0))
            case MapWidth():
                width = max(1, min(self.scalars[WIDTH], step.most, asked["rows"]))
                return MapWidthAnswer(width, self.scalars[FLAT])
            case ScanTileShape():
                return ScanTileAnswer(*(self.scalars[name] for name in (
                    plan.GROUP_SIZE, STAGED, CHUNK, WINDOW, PATIENCE)))
            case ProductTileShape():
                rows, across, depth = (self.scalars[name] for name in (ROWS, ACROSS, DEPTH))
                return ProductTileAnswer(
                    2 * across, 2, across, rows, 1, depth, depth * rows // across, depth // 2, rows,
                    self.scalars[SLABS], 1, 1)
            case SegmentBlockShape():
                return SegmentBlockAnswer(4, 4, 1, 0, 1, 0, 0)
            case StripShape():
                columns = COLUMNS if asked["width"] >= COLUMNS else 0
                rows = 2 if asked["height"] >= 2 else 1
                return StripAnswer(1, columns, rows, rows * columns, 2)
        geometry = geometry_of(step)
        return geometry.choose(geometry.request(**asked),
                               GeometryLimits(self.shares, num_groups=2))

    def value(self, value: Any) -> Any:
        """A fact or setting with numbers in place of names."""
        match value:
            case VName() | Const():
                return self.atom(value)
            case Size():
                return self.size(value)
            case tuple():
                return tuple(map(self.value, value))
        return value

    def control(self, step: plan.Step) -> None:
        """What only whole programs do."""
        raise AssertionError(f"unexpected step {step}")

    def choose(self, versions: Sequence[plan.PlanVersion]) -> plan.PlanVersion:
        """The version to run."""
        raise AssertionError("unexpected choice")


class DeviceMachine(Machine):
    """Launches on an OpenCL device.

    PoCL never gets kernels for devices in lockstep from users.  To optimise those with barriers
    takes most of the time of their tests.
    """

    def __init__(self, sim: Platform, scalars: dict[VName, int],
                 device: Mapping[VName, int]) -> None:
        self.sim = sim
        super().__init__(scalars, device)

    def put(self, name: VName, data: np.ndarray[Any, Any]) -> None:
        held = data.reshape(-1) if data.size else np.zeros(1, data.dtype)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        self.buffers[name] = cl.Buffer(self.sim.context, flags, hostbuf=held.copy())

    def get(self, name: VName, prim: Prim, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        count = int(np.prod(shape, dtype=np.int64))
        out = np.zeros(max(count, 1), prim.dtype)
        cl.enqueue_copy(self.sim.queue, out, self.buffers[name])
        return out[:count].reshape(shape)

    def allocate(self, name: VName, prim: Prim, count: int) -> None:
        self.buffers[name] = cl.Buffer(self.sim.context, cl.mem_flags.READ_WRITE,
                                       max(count, 1) * prim.bytes)

    def launch(self, step: plan.Launch) -> None:
        kernel, groups, group = step.kernel, self.size(step.groups), self.size(step.group)
        if groups == 0:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            constants = {name: self.scalars[name] for name in kernel.constants}
            source = opencl_program([kernel], {}, constants)
            for_others = self.scalars.get(LOCKSTEP) and count_barrier_calls(source)
            program = cl.Program(self.sim.context, source).build(
                ["-cl-std=CL1.2", *(["-cl-opt-disable"] if for_others else [])])
        code, message_args = np.array([-1], np.int32), np.zeros(FAILURE_ARGS, np.int64)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        failures = [cl.Buffer(self.sim.context, flags, hostbuf=b)
                    for b in (code, message_args)]
        args: list[Any] = list(failures)
        for param, atom in zip(kernel.params, step.args, strict=True):
            if isinstance(param, imp.BufferParam):
                assert isinstance(atom, VName)
                args.append(self.buffers[atom])
            else:
                dtype = np.dtype(np.uint8) if param.prim is Prim.BOOL else param.prim.dtype
                args.append(dtype.type(self.atom(atom)))
        if kernel.teams is not None:
            teams = self.scalars[kernel.teams]
            groups, group = -(-groups // teams), group * teams
            rooms = [self.size(cells_of(a)) for a in kernel.local_memory]
            args += [np.int64(room) for room in rooms]
            args += [cl.LocalMemory(max(room, 1) * CELL_BYTES * teams) for room in rooms]
        else:
            args += [cl.LocalMemory(max(self.size(a.length), 1) * a.prim.bytes)
                     for a in kernel.local_memory]
        cl.Kernel(program, kernel.name)(self.sim.queue, (groups * group,), (group,), *args)
        for host, held in zip((code, message_args), failures, strict=True):
            cl.enqueue_copy(self.sim.queue, host, held)
        if code[0] >= 0 and self.failure is None:
            failure = kernel.failures[int(code[0])]
            self.failure = (failure.message.format(*message_args), tuple(message_args))


class ModelMachine(Machine):
    """Launches by the interpreter of the imperative IR, which has sub-groups."""

    shares = replace(SHARES, subgroup=2)

    def put(self, name: VName, data: np.ndarray[Any, Any]) -> None:
        self.buffers[name] = data.reshape(-1).copy()

    def get(self, name: VName, prim: Prim, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        return np.asarray(self.buffers[name]).reshape(shape)

    def allocate(self, name: VName, prim: Prim, count: int) -> None:
        self.buffers[name] = np.zeros(count, prim.dtype)

    def launch(self, step: plan.Launch) -> None:
        kernel = step.kernel
        imp_check(kernel)
        args = {p.name: self.buffers[atom].view(p.prim.dtype) if isinstance(
            p, imp.BufferParam) and isinstance(atom, VName) else self.atom(atom)
            for p, atom in zip(kernel.params, step.args, strict=True)}
        reported = imp_run(kernel, Launch(
            self.size(step.groups), self.size(step.group), args,
            {name: self.scalars[name] for name in kernel.constants},
            {a.name: self.size(a.length) for a in kernel.local_memory}))
        if reported is not None and self.failure is None:
            message = kernel.failures[reported.code].message
            self.failure = (message.format(*reported.args), reported.args)


def shape_value(type_: Type, scalars: Mapping[VName, Any]) -> tuple[int, ...]:
    """The sizes of a type as numbers."""
    return tuple(int(s.value) if isinstance(s, Const) else int(scalars[s])
                 for s in shape_of(type_))


def lowered_results(stm: Stm, args: Mapping[Param, Any], names: Names,
                    device: Mapping[VName, int], on: str = "Oclgrind",
                    before: Callable[[Machine, Sequence[plan.Step]], None] | None = None,
                    ) -> list[np.ndarray[Any, Any]]:
    """What the kernels of a segmented operation compute; ProgramFailure if they say so.

    ``before`` does something with the machine and the steps before they run.
    """
    types = {p.name: p.type for p in args} | {p.name: p.type for p in stm.pat}
    lowered = lower_segop(stm, Host(types, interleave=bool(device.get(LOCKSTEP, on == "Oclgrind")),
                                    coherent=bool(device.get(COHERENT))), names)
    scalars = {p.name: v for p, v in args.items() if isinstance(p.type, Prim)}
    machine = ModelMachine(scalars, device) if on == MODEL else DeviceMachine(
        usable(on), scalars, device)
    for param, value in args.items():
        if not isinstance(param.type, Prim):
            machine.put(param.name, np.asarray(value, elem_of(param.type).dtype))
    given = {p.name: v for p, v in args.items()}
    for param, dest in zip(stm.pat, destinations(stm.exp, len(stm.pat)), strict=True):
        prim, shape = elem_of(param.type), shape_value(param.type, scalars)
        initial = np.zeros(shape, prim.dtype) if dest is None else given[dest]
        machine.put(param.name, np.asarray(initial, prim.dtype))
    if before is not None:
        before(machine, lowered)
    machine.run(lowered)
    if isinstance(machine, DeviceMachine):
        machine.sim.queue.finish()
        complaints = machine.sim.complaints()
        assert not complaints, complaints
    if machine.failure is not None:
        raise ProgramFailure(machine.failure[0])
    return [machine.get(p.name, elem_of(p.type), shape_value(p.type, scalars)) for p in stm.pat]


def destinations(exp: Any, count: int) -> list[VName | None]:
    """The arrays whose contents the result buffers start with."""
    match exp:
        case SegScatter(_, _, dests):
            return [d.array for d in dests]
        case SegHist(_, _, ops):
            return [d for o in ops for d in o.dests]
    return [None] * count


def interpreted(stm: Stm, args: Mapping[Param, Any]) -> list[Any]:
    """What the interpreter computes."""
    fun = Fun("main", tuple(args), stm.pat, Body((stm,), tuple(p.name for p in stm.pat)))
    return interpret_fun(fun, list(args.values()))


def agree(exp: SegOp, ret: Sequence[Type], args: Mapping[Param, Any], names: Names,
          device: Mapping[VName, int] | None = None,
          on: str = "Oclgrind") -> list[np.ndarray[Any, Any]]:
    """Check that kernels and interpreter agree about an operation; the results.

    The kernels run by the interpreter of the imperative IR, and on a device; work-groups also side
    by side.
    """
    stm = Stm(tuple(Param(names.fresh("out"), t) for t in ret), exp)
    expected = interpreted(stm, args)
    sides = (1, 2) if isinstance(exp, SegMap) and exp.level is Level.GROUP else (1,)
    for where, teams in itertools.product((MODEL, on), sides):
        known = {**DEVICE, **(device or {}), TEAMS: teams}
        actual = lowered_results(stm, args, names, known, where)
        for want, got in zip(expected, actual, strict=True):
            if np.asarray(want).dtype.kind == "f":
                np.testing.assert_allclose(got, want, rtol=1e-5)
            else:
                np.testing.assert_array_equal(got, want)
    return actual


def by_groups(text: str, on: str) -> tuple[runelift.Program, dict[str, int]]:
    """A program on ``pocl`` or ``oclgrind``, if that is here, and its versions for groups."""
    wanted = {"pocl": "Portable", "oclgrind": "Oclgrind"}[on]
    if not any(wanted in d.platform and d.problem is None for d in find_devices()):
        pytest.skip(f"no {on} here")
    program = programs.program(text, on)
    force = {name: number for forest in program.tree.entries
             for name, site in forest.sites().items()
             for number, alternative in enumerate(site.alternatives)
             if alternative.kind is Kind.INTRA}
    assert force
    return program, force
