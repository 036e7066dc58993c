"""The host plan of a versioned function.

Arrays live in buffers.  Scalars live on the host, unless a kernel made them and the host need not
know them (:mod:`runelift.codegen.hostplan.scalar_residence`).  Such scalars are *deferred*: each
kernel that uses one computes it from buffers.

Layout operations make views and cost nothing.  An array is copied only where a separate row-major
buffer is needed: at the edges of loops, branches and versions, and for results.  An update is in
place if the operand's buffer was made in the same body and nothing reads it later.
"""

from __future__ import annotations

from collections.abc import Set

from runelift.codegen.hostplan.coalescing import (
    CONTIGUOUS_ALONG,
    LAZY,
    ONLY_IF_LONG,
    WALKED_TOGETHER,
    attribute_number,
    coalesce,
)
from runelift.codegen.hostplan.control import Control
from runelift.codegen.hostplan.in_place import elements_of_literals
from runelift.codegen.hostplan.margins import store_margins
from runelift.codegen.hostplan.scalar_residence import residence
from runelift.codegen.hostplan.unread_offsets import without_unread_offsets
from runelift.codegen.plan import plan
from runelift.codegen.plan.interface import interface
from runelift.codegen.plan.liveness import release_dead
from runelift.codegen.plan.views import iota
from runelift.ir import imp
from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import idle_copies
from runelift.ir.analysis.lookahead import with_uses_after
from runelift.ir.analysis.placement import SCRATCH
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.types import Atom, array_of, i64, shape_of


def plan_fun(fun: ir.Fun, names: Names, *, interleave: bool = False,
             coherent: bool = False) -> plan.Plan:
    """The plan of an entry point; CompilerLimitation if no version of it can be compiled.

    ``interleave``: arrays that neighbouring work-items make are interleaved in memory, so that the
    device writes elements of the same index together.  ``coherent``: groups see what other groups
    wrote in the same launch, so that one kernel can run all iterations of a loop.
    """
    fun = store_margins(fun, names, lazily=interleave)
    if interleave:
        fun = coalesce(without_unread_offsets(fun), names)
    host = HostBuilder(names, residence(fun, coherent=coherent), fun.name, interleave, coherent)
    for param in fun.params:
        host.bind_input(param)
    results = host.body(fun.body, frozenset())
    hidden = {size for p in fun.results for size in shape_of(p.type)}
    renamed = dict(zip((p.name for p in fun.results), fun.body.result, strict=True))
    specs: list[plan.ValueSpec] = []
    scalars: list[tuple[VName, Atom]] = []
    for param, atom in zip(fun.results, results, strict=True):
        if param.name in hidden:
            continue
        if isinstance(param.type, Prim):
            held = names.fresh(param.name)
            scalars.append((held, atom))
            specs.append(plan.ValueSpec(held, param.type, None))
        else:
            assert isinstance(atom, VName)
            shape = tuple(renamed.get(s, s) if isinstance(s, VName) else s
                          for s in param.type.shape)
            specs.append(plan.ValueSpec(host.any_buffer(atom), param.type.elem, shape))
    host.read_back(scalars)
    given = interface(fun)
    return release_dead(plan.Plan(given.entry, given.sizes, given.params, tuple(specs),
                                  tuple(host.steps)))


class HostBuilder(Control):
    """The steps of the statements that the host runs."""

    __slots__ = ()

    def body(self, body: ir.Body, used_after: Set[VName]) -> tuple[Atom, ...]:
        """Add the steps of a body, and return its results."""
        self.idle |= idle_copies(body)
        followed, packed = with_uses_after(body, used_after), self.packings_of(body)
        elements = elements_of_literals(followed, self.residence.needed)
        self.places.elements |= elements
        for array, _ in elements.values():
            self.views.pop(array.name, None)
        checks: ir.SegMap | None = None
        made = None
        for place, (stm, after) in enumerate(followed):
            following = followed[place + 1][0] if place + 1 < len(followed) else None
            self.later.append(after)
            if isinstance(stm.exp, ir.SegMap):
                self.place_results(followed, place)
            if stm is made:
                pass  # by the kernel of the statement before
            elif self.checks_lengths(stm, following):
                checks = ir.node_of(stm, ir.SegMap)
            elif (packing := packed.get(id(stm))) is not None:
                self.packed(stm, packing)
            else:
                if following is not None and self.has_checks_beside(stm, following):
                    checks, made = ir.node_of(following, ir.SegMap), following
                self.statement(stm, checks)
                checks = None
            self.later.pop()
        return body.result

    def statement(self, stm: ir.Stm, checks: ir.SegMap | None = None) -> None:
        """Add the steps of one statement, whose kernel also makes ``checks``."""
        for param in stm.pat:
            self.types[param.name] = param.type
        match stm.exp:
            case ir.PrimOp() | ir.Convert() | ir.AtomExp():
                self._scalar(stm, stm.exp)
            case ir.Index():
                self.index(stm, stm.exp)
            case ir.Update():
                self.update(stm, stm.exp)
            case ir.Iota(count, start, step, prim):
                self.bind_view(stm.pat[0], iota(prim, self.scalar(count), self.scalar(start),
                                                self.scalar(step)))
            case ir.Replicate() if SCRATCH in stm.attrs:
                self.allocate(stm.pat[0])
            case ir.Replicate(shape, value):
                self.replicate(stm, shape, value)
            case ir.Rearrange(perm, array):
                self.bind_view(stm.pat[0], self.views[array].rearrange(perm))
                if array in self.places.waiting:
                    self.places.waiting.add(stm.pat[0].name)
            case ir.Reshape(shape, array):
                self.check_reshape(stm, shape, array)
                self.bind_view(stm.pat[0], self.views[array].reshape(
                    tuple(self.scalar(s) for s in shape)))
            case ir.Slide(dim, size, step, count, array):
                self.bind_view(stm.pat[0], self.views[array].slide(
                    dim, self.scalar(size), self.scalar(step), self.scalar(count)))
            case ir.Pad(dim, before, _, value, array):
                padded = self.views[array].pad(dim, self.scalar(before), self.shape(
                    stm.pat[0].type)[dim], self.scalar(value))
                (self.store_lazily if LAZY in stm.attrs else self.bind_view)(stm.pat[0], padded)
            case ir.Copy(array) if LAZY in stm.attrs:
                beside = attribute_number(stm, WALKED_TOGETHER)
                self.copy_lazily(stm.pat[0], array, attribute_number(stm, CONTIGUOUS_ALONG),
                                 beside=beside if ONLY_IF_LONG in stm.attrs else None)
            case ir.Copy(array) if stm.pat[0].name in self.idle and self.views[array].unit:
                self.bind_view(stm.pat[0], self.views[array])
            case ir.Copy(array):
                self.adopt(stm.pat[0], self.own_buffer(array))
            case ir.Concat(dim, arrays, _):
                self.concat(stm, dim, arrays)
            case ir.ArrayLit(elems, row):
                self.literal(stm, elems, row)
            case ir.LengthFacts():
                self.length_facts(stm, stm.exp, checks)
            case ir.SlabSize(each, longest):
                self.emit(plan.SlabSize(stm.pat[0].name, each, longest))
            case ir.SegmentLength(likely):
                self.segment_length(stm, likely)
            case ir.Assert(cond, message, args):
                self.emit(plan.Check(cond, message, args, stm.loc))
            case ir.If():
                self.branch(stm, stm.exp)
            case ir.Loop():
                self.loop(stm, stm.exp)
            case ir.Recursion():
                self.recursion(stm, stm.exp)
            case ir.Call(function, args):
                self.emit(self.call(stm, function, args))
                self.own_results(stm.pat)
            case ir.Versions():
                self.versions(stm, stm.exp)
            case (ir.SegMap() | ir.SegRed() | ir.SegScan() | ir.SegScatter() | ir.SegHist()
                  | ir.SegAccumulate()):
                self.operation(stm, stm.exp, checks)
            case _:
                self._sequential(stm)

    def _scalar(self, stm: ir.Stm, exp: ir.PrimOp | ir.Convert | ir.AtomExp) -> None:
        """Add a scalar operation, on the host or deferred, or bind another name for an atom."""
        match exp:
            case ir.PrimOp(op, prim, args) if not exp.may_trap and self.defers(stm, args):
                self.defer(stm, imp.Apply(op, prim, tuple(map(self.scalar, args))))
            case ir.Convert(from_, to, arg) if self.defers(stm, (arg,)):
                self.defer(stm, imp.Convert(from_, to, self.scalar(arg)))
            case ir.AtomExp(atom) if self.defers(stm, (atom,)):
                self.defer(stm, self.scalar(atom))
            case ir.PrimOp(name, prim, args):
                self.emit(plan.Compute(stm.pat[0].name, name, prim, args, stm.loc))
            case ir.Convert(from_, to, arg):
                self.emit(plan.ConvertScalar(stm.pat[0].name, from_, to, arg))
            case ir.AtomExp(atom):
                if isinstance(atom, VName) and atom in self.views:
                    self.bind_view(stm.pat[0], self.views[atom])
                else:
                    self.emit(plan.Bind(stm.pat[0].name, atom))

    def _sequential(self, stm: ir.Stm) -> None:
        """Add a kernel of one point for a statement that only one work-item can run."""
        one = ir.SegDim(self.names.fresh("one"), i64(1))
        pat = tuple(ir.Param(self.names.fresh(p.name),
                             array_of((i64(1),), p.type)) for p in stm.pat)
        kernel = ir.SegMap(ir.Level.GRID, (one,), ir.Body((stm,), tuple(p.name for p in stm.pat)),
                        tuple(p.type for p in stm.pat))
        for param in stm.pat:
            del self.types[param.name]
        self.statement(ir.Stm(pat, kernel, stm.attrs, stm.loc))
        for param, array in zip(stm.pat, pat, strict=True):
            self.types[param.name] = param.type
            if isinstance(param.type, Prim):
                self.scalar_result(param.name, param.type, array.name)
            else:
                self.bind_view(param, self.views[array.name].reshape(self.shape(param.type)))
