"""Sequential code inside a kernel: core statements become imperative statements.

Arrays are values, so an update copies the array.  It works in place if the memory was made in the
same body and no other name for it is used later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias, assert_never

from runelift.codegen.kernel.column_strips import (
    STRIP_COLUMNS,
    all_strips,
    columns_of_lambda,
    fold_lanes,
    lanes_of,
)
from runelift.codegen.kernel.kernel_builder import Value
from runelift.codegen.kernel.searches import stepwise
from runelift.codegen.kernel.soacs import SecondOrder
from runelift.codegen.plan.views import View, iota, lit, op, replicate, within
from runelift.ir import imp
from runelift.ir import syntax as ir
from runelift.ir.base import failures
from runelift.ir.base.errors import CompilerBug
from runelift.ir.imp import Exp
from runelift.ir.imp import Stm as ImpStm
from runelift.ir.imp.traverse import variables
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.traverse import free_vars
from runelift.ir.types import FALSE, Atom, Const, elem_of, shape_of

MOST_SELECTED_STATEMENTS = 4
"""Branches with at most this many cheap operations together run both."""


AccessDim: TypeAlias = Exp | tuple[Exp, Exp, Exp]
"""A dimension of an access: an index, or the start, count and stride of a slice."""


class Selection(NamedTuple):
    """The ``dims`` of an access; all ``fine`` conditions hold unless a slice is out of bounds."""

    dims: list[AccessDim]
    fine: Sequence[Exp] = ()

    @property
    def indices(self) -> list[Exp]:
        """The dimensions that are indices."""
        return [dim for dim in self.dims if not isinstance(dim, tuple)]

    def of(self, view: View) -> View:
        """The part of an array.  It stays inside of its memory, as loops may go on behind a check.

        Its elements are the first one of the memory if a slice is out of bounds.
        """
        part = view.slice(self.dims)
        for fine in self.fine:
            part = _kept_inside(part, fine)
        return part


def _kept_inside(view: View, fine: Exp) -> View:
    if view.mem is None:
        return view
    return replace(view, at=lambda ix: imp.Select(fine, view.at(ix), lit(0), Prim.I64),
                   stored=view.stored and _kept_inside(view.stored, fine))


class KernelBuilder(SecondOrder):
    """Lowers the statements that a work-item runs alone."""

    __slots__ = ()

    def statement(self, stm: ir.Stm) -> None:
        """Emit one statement."""
        self.loc = stm.loc or self.loc
        match stm.exp:
            case ir.PrimOp(name, prim, args):
                self._note_size(stm.pat[0].name, stm.exp)
                proved = failures.nonzero(args[-1]) in stm.attrs
                self.bind_scalar(stm.pat[0], self.prim_op(name, prim, args, proved=proved))
            case ir.AtomExp(atom) | ir.SegmentLength(atom):
                self.bind(stm.pat[0], self.any(atom))
            case ir.Convert(from_, to, arg):
                self.bind_scalar(stm.pat[0], imp.Convert(from_, to, self.scalar(arg)))
            case ir.Index():
                self.index(stm.pat[0], stm.exp)
            case ir.ArrayLit(elems, _):
                self._literal(stm.pat[0], elems)
            case ir.Update():
                self.update(stm.pat[0], stm.exp)
            case ir.Iota(count, start, step, prim):
                self.bind(stm.pat[0], iota(prim, self.scalar(count), self.scalar(start),
                                           self.scalar(step)))
            case ir.Replicate(shape, value):
                outer = tuple(self.scalar(s) for s in shape)
                self.bind(stm.pat[0], replicate(elem_of(stm.pat[0].type), outer,
                                                self._stable(value)))
            case ir.Concat(dim, arrays, _):
                self._concat(stm.pat[0], dim, arrays)
            case ir.Rearrange(perm, array):
                self.bind(stm.pat[0], self.array(array).rearrange(perm))
            case ir.Reshape(shape, array):
                self.bind(stm.pat[0], self.array(array).reshape(
                    tuple(self.scalar(s) for s in shape)))
            case ir.Slide(dim, size, step, count, array):
                self.bind(stm.pat[0], self.array(array).slide(
                    dim, self.scalar(size), self.scalar(step), self.scalar(count)))
            case ir.Pad(dim, before, _, value, array):
                length = self.scalar(shape_of(stm.pat[0].type)[dim])
                self.bind(stm.pat[0], self.array(array).pad(
                    dim, self.scalar(before), length, self.scalar(value)))
            case ir.Copy(array) if stm.pat[0].name in self.idle:
                self.bind(stm.pat[0], self.array(array))
            case ir.Copy(array):
                self.bind_copy(stm.pat[0], self.array(array))
            case ir.Assert(cond, message, args):
                if message != failures.SIZE:  # loops of negative length have no iteration
                    self.doubted |= variables(self.scalar(cond))
                self.fail_unless(self.scalar(cond), message, [self._wide(a) for a in args])
            case ir.If():
                self.branch(stm.pat, stm.exp)
            case ir.Loop():
                self.iterate(stm.pat, stm.exp)
            case ir.Map():
                outs = [self.allocate(p.name, p.type) for p in stm.pat]
                self._map(stm.exp, outs, unroll="unroll" in stm.attrs)
                self.bind_all(stm.pat, outs)
            case ir.Redomap():
                self.redomap(stm.pat, stm.exp)
            case ir.Scanomap():
                self.scanomap(stm.pat, stm.exp)
            case ir.Scatter():
                self.scatter(stm.pat, stm.exp)
            case ir.Hist():
                self.hist(stm.pat, stm.exp)
            case ir.Accumulate():
                self.run_stream(stm.pat, stm.exp)
            case ir.AccWrite(acc, _, index, values):
                place = self.declare("place", Prim.I64, self.scalar(index))
                self.accumulators[acc](place, [self.any(value) for value in values])
                self.bind_scalar(stm.pat[0], imp.Lit(FALSE))
            case (ir.SegMap() | ir.SegRed() | ir.SegScan() | ir.SegScatter() | ir.SegHist()
                  | ir.SegAccumulate() | ir.Versions() | ir.Call() | ir.Recursion()
                  | ir.LengthFacts() | ir.SlabSize() | ir.Jvp() | ir.Vjp() | ir.WithVjp()):
                raise CompilerBug(f"{type(stm.exp).__name__} inside of sequential code")
            case _:
                assert_never(stm.exp)

    def redomap(self, pat: tuple[ir.Param, ...], exp: ir.Redomap) -> None:
        """Emit a reduction, with the other results of its map; in lanes if that is quicker."""
        lanes = lanes_of(self, exp.ops, exp.lam.body)
        if lanes is None or len(exp.lam.ret) != sum(len(o.lam.ret) for o in exp.ops):
            SecondOrder.redomap(self, pat, exp)
            return
        totals = [[t for t in self.neutral(o) if isinstance(t, imp.Var)] for o in exp.ops]
        width = self.length(exp.width)

        def element(index: Exp) -> list[Value]:
            return self.apply(exp.lam, self.elements(exp.lam, exp.arrays, index))

        start = fold_lanes(self, lanes, exp.ops, totals, element, (lit(0), width))
        self.loop(width, lambda index: self.accumulate_all(exp.ops, totals, element(index)),
                  start=start)
        self.bind_all(pat, [t for each in totals for t in each])

    def _map(self, exp: ir.Map, outs: Sequence[View], *, unroll: bool) -> None:
        """Emit one element after the other, or strips of neighbouring columns that are reduced."""
        width = self.scalar(exp.width)
        columns = None if self.host.interleave else columns_of_lambda(self, exp)
        with self.block() as elements:
            self.loop(self.length(exp.width),
                      lambda i: self.map_step(exp.lam, exp.arrays, i, outs), unroll=unroll)
        if columns is None:
            self.emit(*elements)
            return
        with self.block() as strips:
            all_strips(self, columns, outs, width)
        enough = imp.Apply("le", Prim.I64, (lit(STRIP_COLUMNS), width))
        self.emit(imp.If(enough, tuple(strips), tuple(elements)))

    def _wide(self, atom: Atom) -> Exp:
        prim = elem_of(self.type_of(atom))
        value = self.scalar(atom)
        return value if prim is Prim.I64 else imp.Convert(prim, Prim.I64, value)

    def prim_op(self, name: str, prim: Prim, args: tuple[Atom, ...], *, proved: bool) -> Exp:
        """A scalar operation; an integer division by zero fails and divides by 1.

        It cannot fail if the divisor is ``proved`` not to be 0.
        """
        values = [self.scalar(a) for a in args]
        if OPS[name].traps and prim.is_int:
            divisor = values[-1]
            if not (isinstance(divisor, imp.Lit) and divisor.const.value != 0):
                zero, one = imp.Lit(Const(0, prim)), imp.Lit(Const(1, prim))
                nonzero = imp.Apply("not", Prim.BOOL, (imp.Apply("eq", prim, (divisor, zero)),))
                if not proved:
                    self.doubted |= variables(divisor)
                    self.fail_unless(nonzero, failures.DIVISION, [])
                values[-1] = imp.Select(nonzero, divisor, one, prim)
        return imp.Apply(name, prim, tuple(values))

    # Arrays

    def _stable(self, atom: Atom) -> Value:
        """A value that does not change when memory is updated later."""
        if not isinstance(self.any(atom), View):
            return self.any(atom)
        assert isinstance(atom, VName)
        value = self.array(atom)
        if value.mem is not None and value.mem in self.owned[-1]:
            fresh = ir.Param(self.names.fresh(atom), self.type_of(atom))
            self.bind_copy(fresh, value)
            return self.array(fresh.name)
        return value

    def selection(self, exp: ir.Index | ir.Update, view: View) -> Selection:
        """The dims of an access as expressions, with bounds checks."""
        if not exp.checked:
            return Selection([self._part(dim) for dim in exp.dims])
        dims = [self._held(self._part(dim)) for dim in exp.dims]
        written = [self._written(dim) for dim in dims]
        self.doubted.update(*(variables(value) for each in written for value in each))
        message = failures.access([len(each) for each in written])
        values = [*(value for each in written for value in each), *view.shape]
        fine = list[Exp]()
        return Selection([
            self._within(dim, size, message, values, fine) if isinstance(dim, tuple)
            else self._inside(dim, size, message, values)
            for dim, size in zip(dims, view.shape, strict=True)], fine)

    def _part(self, dim: ir.Dim) -> AccessDim:
        if isinstance(dim, ir.SliceDim):
            return self.scalar(dim.start), self.scalar(dim.count), self.scalar(dim.stride)
        return self.scalar(dim)

    def _held(self, part: AccessDim) -> AccessDim:
        """An index that is computed once."""
        if isinstance(part, tuple | imp.Var | imp.Lit):
            return part
        return self.declare("index", Prim.I64, part)

    def _written(self, part: AccessDim) -> tuple[Exp, ...]:
        """A dimension of an access as a program writes it: an index, or start, stop and step."""
        if not isinstance(part, tuple):
            return (part,)
        start, count, stride = part
        if stride == lit(1):
            return start, op("add", start, count)
        return start, op("add", start, op("mul", count, stride)), stride

    def _inside(self, index: Exp, size: Exp, message: str, values: list[Exp]) -> Exp:
        """An index checked against the bounds; one inside them if the check fails."""
        if (known := self.checked[-1].get((index, size))) is not None:
            return known
        inside = within(index, size)
        self.fail_unless(inside, message, values)
        safe = self.declare("safe", Prim.I64, imp.Select(inside, index, lit(0), Prim.I64))
        self.checked[-1][index, size] = safe
        return safe

    def _within(self, part: tuple[Exp, Exp, Exp], size: Exp, message: str, values: list[Exp],
                fine: list[Exp]) -> AccessDim:
        """A slice checked against the bounds, with no elements if the check fails.

        The condition that it is inside of them joins ``fine``.
        """
        start, count, stride = part
        if start == lit(0) and count == size and stride == lit(1):
            return part
        last = op("add", start, op("mul", op("sub", count, lit(1)), stride))
        ends = imp.Apply("and", Prim.BOOL, (within(start, size), within(last, size)))
        empty = imp.Apply("eq", Prim.I64, (count, lit(0)))
        inside = self.declare("inside", Prim.BOOL, imp.Apply("or", Prim.BOOL, (
            empty, imp.Apply("and", Prim.BOOL, (imp.Apply("lt", Prim.I64, (lit(0), count)),
                                                ends)))))
        self.fail_unless(inside, message, values)
        fine.append(inside)
        return start, imp.Select(inside, count, lit(0), Prim.I64), stride

    def index(self, param: ir.Param, exp: ir.Index) -> None:
        """Emit ``array[dims]`` as a load, or bind a view."""
        view = self.array(exp.array)
        selection = self.selection(exp, view)
        if len(selection.indices) == len(selection.dims):
            self.bind_scalar(param, view.read(selection.indices))
        else:
            self.bind(param, selection.of(view))

    def _literal(self, param: ir.Param, elems: tuple[Atom, ...]) -> None:
        out = self.allocate(param.name, param.type)
        for k, elem in enumerate(elems):
            self.store(out, [lit(k)], self.any(elem))
        self.bind(param, out)

    def update(self, param: ir.Param, exp: ir.Update) -> None:
        """Emit ``array with [dims] <- value``."""
        value = self.any(exp.value)
        if isinstance(value, View) and isinstance(exp.value, VName) and value.mem is not None and (
            value.mem == self.array(exp.array).mem
        ):
            held = ir.Param(self.names.fresh(exp.value), self.type_of(exp.value))
            self.bind_copy(held, value)
            value = self.array(held.name)
        out = self.writable(param, exp.array)
        selection = self.selection(exp, out)
        if isinstance(value, View):
            self.copy(selection.of(out), value)
        else:
            self.emit(out.write(selection.indices, value))
        self.bind(param, out)

    def _concat(self, param: ir.Param, dim: int, arrays: tuple[VName, ...]) -> None:
        out = self.allocate(param.name, param.type)
        start: Exp = lit(0)
        for name in arrays:
            part = self.array(name)
            dims: list[Exp | tuple[Exp, Exp, Exp]] = [
                (start if k == dim else lit(0), size, lit(1)) for k, size in enumerate(part.shape)]
            self.copy(out.slice(dims), part)
            start = op("add", start, part.shape[dim])
        self.bind(param, out)

    # Control

    def branch(self, pat: tuple[ir.Param, ...], exp: ir.If) -> None:
        """Emit ``if``; its results get variables and memory before it.

        Branches of a few cheap scalar operations become selections: no divergence, and CPU
        compilers vectorise them.
        """
        if self._selectable(exp):
            cond = self.scalar(exp.cond)
            sides = [self.body(body) for body in (exp.then_, exp.else_)]
            for param, then_, else_ in zip(pat, *sides, strict=True):
                assert isinstance(param.type, Prim)
                assert not isinstance(then_, View)
                assert not isinstance(else_, View)
                self.bind_scalar(param, imp.Select(cond, then_, else_, param.type))
            return
        targets = [self.declare(p.name, p.type) if isinstance(p.type, Prim) else None for p in pat]
        for param, target in zip(pat, targets, strict=True):
            if target is not None:
                self.bind(param, target)
        views = {p.name: self.allocate(p.name, p.type) for p in pat if not isinstance(p.type, Prim)}
        codes: list[tuple[ImpStm, ...]] = []
        for body in (exp.then_, exp.else_):
            with self.inner() as code:
                results = self.body(body, self.later[-1])
                for param, target, value in zip(pat, targets, results, strict=True):
                    if isinstance(value, View):
                        self.copy(views[param.name], value)
                    elif target is not None:
                        self.emit(imp.Assign(target.name, value))
            codes.append(tuple(code))
        self.emit(imp.If(self.scalar(exp.cond), codes[0], codes[1]))
        for param in pat:
            if param.name in views:
                self.bind(param, views[param.name])

    def _selectable(self, exp: ir.If) -> bool:
        """True if both branches are cheap and safe enough to run both."""
        stms = (*exp.then_.stms, *exp.else_.stms)
        return (len(stms) <= MOST_SELECTED_STATEMENTS and all(isinstance(t, Prim) for t in exp.ret)
                and all(isinstance(s.exp, ir.PrimOp) and not OPS[s.exp.op].traps
                        and s.exp.op != "pow" for s in stms))

    def iterate(self, pat: tuple[ir.Param, ...], exp: ir.Loop) -> None:
        """Emit a loop; carried arrays get memory that the body may update in place."""
        if self.host.interleave:
            exp = stepwise(exp, self.type_of, self.names) or exp
        inits = [self.any(p.init) for p in exp.params]
        carried: list[Value] = []
        for out, p, init in zip(pat, exp.params, inits, strict=True):
            if isinstance(p.param.type, Prim):
                assert not isinstance(init, View)
                carried.append(self.declare(p.param.name, p.param.type, init))
                self.bind(p.param, carried[-1])
                self.bind(out, carried[-1])
        self.later.append(self.later[-1] | free_vars(exp.body))
        for position, (out, p, init) in enumerate(zip(pat, exp.params, inits, strict=True)):
            if isinstance(init, View):
                taken = any(isinstance(c, View) and c.mem == init.mem for c in carried)
                if not taken and self.reusable(out, p, init):
                    memory = init
                else:
                    memory = self.allocate(out.name, out.type)
                    self.copy(memory, init)
                carried.insert(position, memory)
                self.bind(p.param, memory)
        self.later.pop()
        failures = len(self.failures)
        with self.inner() as code:
            self.owned[-1] |= {c.mem for c in carried if isinstance(c, View) and c.mem}
            if isinstance(exp.form, ir.ForLoop):
                self.types[exp.form.index] = Prim.I64
                self.env[exp.form.index] = imp.Var(exp.form.index)
            self._carry(carried, self.body(exp.body), [p.param for p in exp.params])
        if isinstance(exp.form, ir.ForLoop):
            bound = self.length(exp.form.bound)
            self.emit(imp.For(exp.form.index, lit(0), bound, lit(1), tuple(code)))
        else:
            going = self.scalar(exp.form.cond)
            if isinstance(going, imp.Var) and self.failures and (
                    fine := self.no_failure(exp)) is not None:
                ends = imp.Assign(going.name, imp.Apply("and", Prim.BOOL, (going, fine)))
                self.emit(*[ends] * (failures > 0))
                code += [ends] * (len(self.failures) > failures)
            self.emit(imp.While(going, tuple(code)))
        self.bind_all(pat, carried)

    def no_failure(self, _: ir.Loop) -> Exp | None:
        """False where a check has failed: a ``while`` loop ends then, as it might not otherwise."""
        return self.own_fine()

    def reusable(self, out: ir.Param, param: ir.LoopParam, init: View) -> bool:
        """True if a loop may keep its values in the memory of ``init``."""
        return (isinstance(param.init, VName) and init.mem is not None and self.dead(param.init)
                and out.name not in self.dest)

    def _carry(self, carried: list[Value], results: list[Value], params: list[ir.Param]) -> None:
        """Make the results of an iteration the values of the next, all at once."""
        memories_of = {c.mem for c in carried if isinstance(c, View)}
        held: list[Value] = []
        for target, result, param in zip(carried, results, params, strict=True):
            if isinstance(result, View) and isinstance(target, View):
                crossing = result.mem != target.mem and (
                    result.mem in memories_of or result.mem is None)
                partial = result.mem == target.mem and result is not target
                if crossing or partial:
                    temporary = ir.Param(self.names.fresh(param.name), param.type)
                    self.bind_copy(temporary, result)
                    result = self.array(temporary.name)
                held.append(result)
            else:
                assert not isinstance(result, View)
                assert isinstance(param.type, Prim)
                held.append(self.declare(param.name, param.type, result))
        for target, value in zip(carried, held, strict=True):
            if isinstance(target, View):
                assert isinstance(value, View)
                if value is not target:
                    self.copy(target, value)
            else:
                assert isinstance(target, imp.Var)
                assert not isinstance(value, View)
                self.emit(imp.Assign(target.name, value))
