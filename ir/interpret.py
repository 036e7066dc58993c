"""The meaning of the language: an interpreter of core and versioned IR on NumPy arrays.

Every pass and every code version is tested against it, and it runs programs where no OpenCL
device exists.  It favours clarity over speed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, assert_never

import numpy as np

from runelift.ir import syntax as ir
from runelift.ir.base import failures
from runelift.ir.base.array_limits import check_room
from runelift.ir.base.deep import deeply, is_deep
from runelift.ir.base.errors import (
    CompilerBug,
    ProgramFailure,
    RunFailure,
    UserError,
    unknown_entry,
)
from runelift.ir.base.source import Loc
from runelift.ir.length_facts import length_facts
from runelift.ir.meaning import PLAIN, convert, operation
from runelift.ir.names import NAMELESS, VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.types import ArrayType, Const, Type, elem_of, shape_of
from runelift.ir.values import (
    Env,
    Value,
    atom,
    dest_types,
    flat_points,
    lengths_of,
    padded,
    ragged_of,
    scattered,
    selection,
    size_in,
    stacked,
    windows,
)

SLAB = 8
"""The elements of a run of segments: few, so that there are several runs."""
ROW_BYTES = 64
"""The least memory for the results of one element of a map, before they become arrays."""
Choose: TypeAlias = Callable[[ir.Versions], int]
"""A choice of the alternative of a ``Versions`` node to run.

If its needs are not met, the next one runs whose needs are; the last one has none.
"""


def last_version(versions: ir.Versions) -> int:
    """The index of the last version, which has no guard."""
    return len(versions.alternatives) - 1


def interpret(program: ir.Program, entry: str, args: Sequence[Value], *,
              choose: Choose = last_version, machine: Interpreter | None = None
              ) -> list[Value]:
    """The results of an entry point; ``machine`` may be an interpreter that checks more.

    ``args`` are the arguments without the size parameters, which come from the shapes.  Raises
    UserError when shapes disagree and ProgramFailure when the program fails.
    """
    for fun in program.funs:
        if fun.name == entry:
            return interpret_fun(fun, args, machine or Interpreter(choose))
    raise unknown_entry(entry, (fun.name for fun in program.funs))


@deeply
def interpret_fun(fun: ir.Fun, args: Sequence[Value],
                  machine: Interpreter | None = None) -> list[Value]:
    """The results of a function, without results that are only sizes of other results.

    UserError also if the machine has too little memory.
    """
    env = bind_arguments(fun, args)
    machine = machine or Interpreter()
    try:
        with np.errstate(all="ignore"):
            results = machine.body(fun.body, env)
    except MemoryError as error:
        raise UserError(f"Out of memory: {error}.") from None
    hidden = {size for p in fun.results for size in shape_of(p.type)}
    return [r for p, r in zip(fun.results, results, strict=True) if p.name not in hidden]


def bind_arguments(fun: ir.Fun, args: Sequence[Value]) -> Env:
    """The environment of the parameters; sizes are bound from shapes, which must agree."""
    params = fun.params[fun.sizes:]
    if len(args) != len(params):
        raise UserError(f"Entry point '{fun.name}' takes {len(params)} arguments, "
                        f"but {len(args)} are given.")
    env: Env = {}
    for param, arg in zip(params, args, strict=True):
        if isinstance(param.type, Prim):
            env[param.name] = np.asarray(arg, param.type.dtype)[()]
    for param, arg in zip(params, args, strict=True):
        if isinstance(param.type, ArrayType):
            array = np.asarray(arg, param.type.elem.dtype)
            _bind_shape(env, param.name, param.type, array.shape)
            env[param.name] = array
    return env


def _bind_shape(env: Env, name: VName, type_: ArrayType, shape: tuple[int, ...]) -> None:
    if len(shape) != len(type_.shape):
        raise UserError(f"Argument '{name.base}' should have {len(type_.shape)} dimensions, "
                        f"but has {len(shape)}.")
    for size, length in zip(type_.shape, shape, strict=True):
        known = int(size.value) if isinstance(size, Const) else env.get(size)
        if known is None:
            assert isinstance(size, VName)
            env[size] = np.int64(length)
        elif int(known) != length:
            label = size.base if isinstance(size, VName) else str(size.value)
            what = f"size '{label}'" if label != NAMELESS else "the size of another argument"
            raise UserError(f"Argument '{name.base}' has shape {list(shape)}, but {what} is "
                            f"{int(known)}.")


def _meets_needs(version: ir.Version, env: Env) -> bool:
    """True if the needs of a version's guard hold for the current sizes."""
    needs = () if version.guard is None else version.guard.needs
    return all(need.holds({name: int(env[name]) for name in need.variables()}) for need in needs)


class Interpreter:
    """Evaluates bodies in environments."""

    def __init__(self, choose: Choose = last_version) -> None:
        self.choose = choose
        self.accumulators: dict[VName, tuple[list[Value], tuple[ir.Operator, ...]]] = {}
        """By the names that bind them: their arrays, and the operator if there is one."""
        self.functions: dict[VName, tuple[ir.Recursion, Env, int]] = {}
        """The functions that call themselves: where each stands, and the calls that are open."""

    def body(self, body: ir.Body, env: Env) -> list[Value]:
        """The results of a body; ``env`` gets its bindings."""
        for stm in body.stms:
            self.statement(stm, env)
        return [atom(a, env) for a in body.result]

    def statement(self, stm: ir.Stm, env: Env) -> None:
        """Bind the results of a statement."""
        try:
            values = self.exp(stm.exp, env, stm)
        except RunFailure as failure:
            raise failure if stm.loc is None or failure.args[1:] else located(
                failure, stm.loc) from None
        except MemoryError as error:
            if stm.loc is None:
                raise
            raise UserError("\n".join([f"{stm.loc}: Out of memory: {error}.", *stm.loc.trace()])
                            ) from None
        for param, value in zip(stm.pat, values, strict=True):
            env[param.name] = value

    def call(self, lam: ir.Lambda, args: Iterable[Value], scope: Env) -> list[Value]:
        """``lam args``; ``scope`` gets its bindings, which the next call overwrites."""
        for param, arg in zip(lam.params, args, strict=True):
            scope[param.name] = arg
        return self.body(lam.body, scope)

    def look(self, exp: ir.Redomap | ir.Scanomap | ir.Scatter | ir.Hist, mapped: list[Value],
             env: Env, stm: ir.Stm) -> None:
        """Look at the values that a statement combines or writes."""

    def exp(self, exp: ir.Exp, env: Env, stm: ir.Stm) -> list[Value]:
        """The results of an expression; long, with one case per construct."""
        match exp:
            case ir.PrimOp():  # most of all expressions, so its parts are not matched
                op, prim, args = exp.op, exp.prim, exp.args
                if (plain := PLAIN.get((op, prim))) is not None:
                    return [plain(atom(args[0], env), atom(args[1], env))]
                values = [atom(a, env) for a in args]
                if OPS[op].traps and prim.is_int and values[-1] == 0:
                    raise ProgramFailure(failures.DIVISION)
                return [operation(op, prim)(*values)]
            case ir.AtomExp(a):
                return [atom(a, env)]
            case ir.Convert(_, to, a):
                return [convert(atom(a, env), to)]
            case ir.Index(array, dims, checked):
                return [env[array][selection(dims, env, env[array].shape, checked)]]
            case ir.ArrayLit(elems, row):
                shape = tuple(int(atom(s, env)) for s in shape_of(row))
                rows = [atom(e, env) for e in elems]
                check_room((len(rows), *shape), elem_of(row).bytes)
                return [np.array(rows, elem_of(row).dtype).reshape((len(rows), *shape))]
            case ir.Update(array, dims, value, checked):
                new = env[array].copy()
                new[selection(dims, env, new.shape, checked)] = atom(value, env)
                return [new]
            case ir.Iota(count, start, step, prim):
                length = size_in(count, env)
                check_room((length,), Prim.I64.bytes)
                index = convert(np.arange(length, dtype=np.int64), prim)
                with np.errstate(over="ignore"):
                    return [(atom(start, env) + index * atom(step, env)).astype(prim.dtype)]
            case ir.Replicate(shape, value):
                item = np.asarray(atom(value, env))
                sizes = tuple(size_in(s, env) for s in shape)
                check_room((*sizes, *item.shape), item.itemsize)
                return [np.broadcast_to(item, (*sizes, *item.shape)).copy()]
            case ir.Concat(dim, arrays, count):
                whole = np.concatenate([env[a] for a in arrays], axis=dim)
                if whole.shape[dim] != size_in(count, env):
                    raise CompilerBug(f"a concatenation of {whole.shape[dim]} elements, not of "
                                      f"{size_in(count, env)}")
                return [whole]
            case ir.Rearrange(perm, array):
                return [env[array].transpose(perm)]
            case ir.Reshape(shape, array):
                sizes = tuple(size_in(s, env) for s in shape)
                if math.prod(sizes) != env[array].size:
                    raise ProgramFailure(failures.RESHAPE.format(env[array].size, math.prod(sizes)))
                check_room(sizes, env[array].itemsize)
                return [env[array].reshape(sizes)]
            case ir.Slide(dim, size, step, count, array):
                return [windows(env[array], dim, *(size_in(a, env) for a in (size, step, count)))]
            case ir.Pad(dim, before, after, value, array):
                return [padded(env[array], dim, int(atom(before, env)), int(atom(after, env)),
                                atom(value, env))]
            case ir.Copy(array):
                return [env[array].copy()]
            case ir.LengthFacts(lengths):
                return [length_facts(env[lengths])]
            case ir.SlabSize():
                return [np.int64(SLAB)]
            case ir.SegmentLength(likely):
                return [atom(likely, env)]
            case ir.Call(function, args):
                return self._apply(function, [atom(a, env) for a in args])
            case ir.Recursion():
                return self._recursion(exp, env)
            case ir.Assert(cond, message, args):
                if not atom(cond, env):
                    raise failures.kind_of(message)(
                        message.format(*(atom(a, env) for a in args)))
                return []
            case ir.If(cond, then_, else_):
                return self.body(then_ if atom(cond, env) else else_, dict(env))
            case ir.Loop():
                return self.loop(exp, env)
            case ir.Map(width, lam, arrays):
                return self._map(size_in(width, env), lam, arrays, env)
            case ir.Redomap() | ir.Scanomap() | ir.Scatter() | ir.Hist():
                mapped = self._map(size_in(exp.width, env), exp.lam, exp.arrays, env)
                self.look(exp, mapped, env, stm)
                match exp:
                    case ir.Redomap(_, ops):
                        return self._reduce(ops, mapped, env)
                    case ir.Scanomap(_, ops):
                        return self._scan(ops, mapped, env)
                    case ir.Scatter(dests=dests):
                        return scattered(dests, mapped, env)
                    case ir.Hist(_, hist_ops):
                        return self._hist(hist_ops, mapped, env, ())
            case ir.Accumulate(width, into, ops, lam, arrays):
                scope = dict(env)
                with self._accumulators(lam.params[0].name, into, ops, env) as results:
                    for i in range(size_in(width, env)):
                        self.call(lam, [np.False_, *(env[a][i] for a in arrays)], scope)
                return results
            case ir.AccWrite():
                return self._write(exp, env)
            case ir.Jvp() | ir.Vjp() | ir.WithVjp():
                return self.derivative(exp, env)
            case ir.SegAccumulate(_, space, acc, into, ops, body):
                with self._accumulators(acc, into, ops, env) as results:
                    scope = {**env, acc: np.False_}
                    for point in itertools.product(*(range(size_in(d.width, env)) for d in space)):
                        self.accumulators[acc] = [array[point[:-1]] for array in results], ops
                        scope.update(zip((d.index for d in space), map(np.int64, point),
                                         strict=True))
                        self.body(body, scope)
                return results
            case ir.SegMap(_, space, body, ret):
                return self._points(space, body, ret, env)
            case ir.SegRed(_, space, ops, body, ret):
                return self._segments(space, ops, self._points(space, body, ret, env), env,
                                      self._reduce)
            case ir.SegScan(_, space, ops, body, ret, post, backwards):
                def turned(arrays: list[Value]) -> list[Value]:
                    count = sum(len(op.neutral) for op in ops) if backwards else 0
                    return [*(np.flip(each, len(space) - 1) for each in arrays[:count]),
                            *arrays[count:]]

                scanned = turned(self._segments(
                    space, ops, turned(self._points(space, body, ret, env)), env, self._scan))
                return scanned if post is None else self._after(space, post, scanned, env)
            case ir.SegScatter(_, space, dests, body):
                values = self._points(space, body, dest_types(dests, env), env)
                rank = 1 if ragged_of(space) else len(space)
                return scattered(dests, [flat_points(v, rank) for v in values], env)
            case ir.SegHist(_, space, hist_ops, body):
                return self._seg_hist(space, hist_ops, body, env)
            case ir.Versions(_, alternatives):
                chosen = next(version for version in alternatives[self.choose(exp):]
                              if _meets_needs(version, env))
                return self.body(chosen.body, dict(env))
            case _:
                assert_never(exp)

    def derivative(self, exp: ir.Derivative, env: Env) -> list[Value]:
        """The results of an operator of derivatives."""
        # late: few programs have derivatives
        from runelift.ir.oracle import Oracle

        return Oracle(self.choose).derivative(exp, env)

    def stack(self, rows: list[list[Value]], types: Sequence[Type], widths: tuple[int, ...],
              env: Env) -> list[Value]:
        """The columns of ``rows`` as arrays with the outer shape ``widths``."""
        return stacked(rows, types, widths, env)

    # Loops

    def loop(self, loop: ir.Loop, env: Env, bound: int = 0) -> list[Value]:
        """The results of a loop; a positive ``bound`` is the most iterations of a while loop."""
        values = [atom(p.init, env) for p in loop.params]
        names = [p.param.name for p in loop.params]
        inner = dict(env)

        def step() -> list[Value]:
            inner.update(zip(names, values, strict=True))
            return self.body(loop.body, inner)

        if isinstance(loop.form, ir.ForLoop):
            for i in range(int(atom(loop.form.bound, env))):
                inner[loop.form.index] = np.int64(i)
                values = step()
            return values
        condition = names.index(loop.form.cond)
        count = 0
        while values[condition]:
            if bound and count == bound:
                raise ProgramFailure(failures.BOUND.format(bound))
            values, count = step(), count + 1
        return values

    def _recursion(self, exp: ir.Recursion, env: Env) -> list[Value]:
        before = self.functions.get(exp.function)
        self.functions[exp.function] = exp, env, 0
        try:
            results = self._apply(exp.function, [atom(p.init, env) for p in exp.params])
        except RecursionError:
            if not is_deep():
                raise
            depth = self.functions[exp.function][2]
            raise ProgramFailure(failures.DEPTH.format(depth)) from None
        if before is not None:  # a call of a function around has come here again
            self.functions[exp.function] = before
        return results

    def _apply(self, function: VName, args: list[Value]) -> list[Value]:
        """A function that calls itself, applied to values."""
        if (known := self.functions.get(function)) is None:
            raise CompilerBug(f"the function '{function}' of a rule has no meaning alone")
        exp, around, depth = known
        if depth >= failures.MOST_CALLS:
            raise ProgramFailure(failures.DEPTH.format(depth))
        self.functions[function] = exp, around, depth + 1
        inner = {**around, **{p.param.name: arg for p, arg in zip(exp.params, args, strict=True)}}
        results = self.body(exp.body, inner)
        self.functions[function] = known
        return results

    # Second-order operations

    def _map(self, width: int, lam: ir.Lambda, arrays: tuple[VName, ...], env: Env) -> list[Value]:
        if not lam.body.stms:
            by_name = {p.name: env[a][:width] for p, a in zip(lam.params, arrays, strict=True)}
            if all(a in by_name for a in lam.body.result):
                return [by_name[a] for a in lam.body.result if isinstance(a, VName)]
        check_room((width,), ROW_BYTES)
        scope, inputs = dict(env), [env[a] for a in arrays]
        rows = [self.call(lam, [array[i] for array in inputs], scope) for i in range(width)]
        return self.stack(rows, lam.ret, (width,), env)

    def _reduce(self, ops: tuple[ir.Operator, ...], mapped: list[Value], env: Env) -> list[Value]:
        results: list[Value] = []
        scope = dict(env)
        for op in ops:
            count = len(op.neutral)
            columns, mapped = mapped[:count], mapped[count:]
            total = [atom(a, env) for a in op.neutral]
            for row in zip(*columns, strict=True):
                total = self.call(op.lam, [*total, *row], scope)
            results += total
        return results + mapped

    def _scan(self, ops: tuple[ir.Operator, ...], mapped: list[Value], env: Env) -> list[Value]:
        results: list[Value] = []
        scope = dict(env)
        for op in ops:
            count = len(op.neutral)
            columns, mapped = mapped[:count], mapped[count:]
            outs = [np.empty_like(c) for c in columns]
            total: list[Value] | None = None
            for i, row in enumerate(zip(*columns, strict=True)):
                total = list(row) if total is None else self.call(op.lam, [*total, *row], scope)
                for out, value in zip(outs, total, strict=True):
                    out[i] = value
            results += outs
        return results + mapped

    def _hist(self, ops: tuple[ir.HistOp, ...], mapped: list[Value], env: Env,
              outer: tuple[int, ...]) -> list[Value]:
        results: list[Value] = []
        scope = dict(env)
        for number, op in enumerate(ops):
            bins = mapped[number]
            start = len(ops) + sum(len(o.dests) for o in ops[:number])
            values = mapped[start : start + len(op.dests)]
            dests = [env[d][outer].copy() for d in op.dests]
            for i, bin_ in enumerate(bins):
                if 0 <= bin_ < atom(op.bins, env):
                    old = [d[bin_] for d in dests]
                    new = self.call(op.op.lam, [*old, *(v[i] for v in values)], scope)
                    for dest, value in zip(dests, new, strict=True):
                        dest[bin_] = value
            results += dests
        return results

    @contextmanager
    def _accumulators(self, acc: VName, dests: tuple[VName, ...], ops: tuple[ir.Operator, ...],
                      env: Env) -> Iterator[list[Value]]:
        """Collect writes to ``acc`` in copies of the destinations while the context lasts."""
        arrays = [env[dest].copy() for dest in dests]
        outside = self.accumulators.get(acc)
        self.accumulators[acc] = arrays, ops
        yield arrays
        if outside is not None:
            self.accumulators[acc] = outside

    def _write(self, exp: ir.AccWrite, env: Env) -> list[Value]:
        arrays, ops = self.accumulators[exp.acc]
        index, values = int(atom(exp.index, env)), [atom(a, env) for a in exp.values]
        if 0 <= index < len(arrays[0]):
            for op in ops:
                held = [array[index] for array in arrays]
                values = self.call(op.lam, [*held, *values], dict(env))
            for array, value in zip(arrays, values, strict=True):
                array[index] = value
        return [np.False_]

    # Segmented operations

    def _points(self, space: ir.Space, body: ir.Body, ret: tuple[Type, ...],
                env: Env) -> list[Value]:
        rows: list[list[Value]] = []
        if (ragged := ragged_of(space)) is None:
            widths = tuple(size_in(dim.width, env) for dim in space)
            points: Iterable[tuple[int, ...]] = itertools.product(*map(range, widths))
        else:
            lengths = lengths_of(ragged, env)
            widths = (sum(lengths),)
            points = ((i, j) for i, length in enumerate(lengths) for j in range(length))
        check_room(widths, ROW_BYTES)
        scope = dict(env)
        for point in points:
            scope.update(zip((dim.index for dim in space), map(np.int64, point), strict=True))
            rows.append(self.body(body, scope))
        return stacked(rows, ret, widths, env)

    def _segments(self, space: ir.Space, ops: tuple[ir.Operator, ...], mapped: list[Value],
                  env: Env,
                  fold: Callable[[tuple[ir.Operator, ...], list[Value], Env], list[Value]],
                  ) -> list[Value]:
        outer = tuple(size_in(dim.width, env) for dim in space[:-1])
        operands = sum(len(op.neutral) for op in ops)
        places: Iterable[Any] = itertools.product(*map(range, outer))
        if (ragged := ragged_of(space)) is not None:
            places = itertools.starmap(slice, itertools.pairwise(
                itertools.accumulate(lengths_of(ragged, env), initial=0)))
        found = [(place, fold(ops, [m[place] for m in mapped[:operands]], env))
                 for place in places]
        if fold == self._scan:
            scanned = [np.empty_like(m) for m in mapped[:operands]]
            for place, results in found:
                for out, values in zip(scanned, results, strict=True):
                    out[place] = values
            return scanned + mapped[operands:]
        types = tuple(t for op in ops for t in op.lam.ret)
        return stacked([results for _, results in found], types, outer, env) + mapped[operands:]

    def _after(self, space: ir.Space, post: ir.Lambda, scanned: list[Value], env: Env
               ) -> list[Value]:
        """The results of a scan whose first arrays go through ``post``, point by point."""
        widths, scope = tuple(size_in(dim.width, env) for dim in space), dict(env)
        first, rows = scanned[:len(post.params)], list[list[Value]]()
        for point in itertools.product(*map(range, widths)):
            scope.update(zip((dim.index for dim in space), map(np.int64, point), strict=True))
            rows.append(self.call(post, [array[point] for array in first], scope))
        return [*stacked(rows, post.ret, widths, env), *scanned[len(first):]]

    def _seg_hist(self, space: ir.Space, ops: tuple[ir.HistOp, ...], body: ir.Body,
                  env: Env) -> list[Value]:
        outer = tuple(size_in(dim.width, env) for dim in space[:-1])
        results = [env[d].copy() for op in ops for d in op.dests]
        types = (*(Prim.I64 for _ in ops), *(t for op in ops for t in op.op.lam.ret))
        mapped = self._points(space, body, types, env)
        for point in itertools.product(*map(range, outer)):
            parts = self._hist(ops, [m[point] for m in mapped], env, point)
            for result, part in zip(results, parts, strict=True):
                result[point] = part
        return results


def located(failure: RunFailure, loc: Loc) -> RunFailure:
    """The failure with its place in the source and the calls that led there."""
    return type(failure)("\n".join([f"{loc}: {failure.args[0]}", *loc.trace()]), loc)
