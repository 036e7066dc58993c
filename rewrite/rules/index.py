"""Indexing and layout: an index of a view is an index of the array it views."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.base import failures
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import ArrayType, Atom, Const, Type, elem_of, i64, shape_of
from runelift.rewrite.engine.rule import Replacement, RuleBook, rule
from runelift.rewrite.engine.scope import Scope, is_whole


@rule(ir.Index, ir.Update)
def check_inside(scope: Scope, stm: ir.Stm) -> Replacement:
    """xs[i] ⇒ xs[i] without a check

    Provided: 0 <= i < n is known, because i counts up to n, the size of xs.
    """
    match stm.exp:
        case ir.Index(array, dims, True) if scope.selects_inside(array, dims):
            return ir.Index(array, dims, False)
        case ir.Update(array, dims, value, True) if scope.selects_inside(array, dims):
            return ir.Update(array, dims, value, False)
    return None


@rule(ir.Index)
def slice_of_rest(scope: Scope, stm: ir.Stm) -> Replacement:
    """xs[a :+ n - b] ⇒ assert (0 <= n - b), xs[a :+ n - b] without a check

    Provided: n is the size of xs, and a and b are constants with 0 <= a <= b.  Other dimensions are
    whole.
    Because: slices of one length share the assertion, which can leave loops and maps.
    """
    match stm.exp:
        case ir.Index(array, (ir.SliceDim(Const(start), VName() as count, Const(1)), *rest), True):
            size, *sizes = shape_of(scope.type(array))
            match scope.exp(count):
                case ir.PrimOp("sub", Prim.I64, (whole_size, Const(less))) if (
                        whole_size == size and 0 <= start <= less):
                    pass
                case _:
                    return None
            if not all(is_whole(dim, n) for dim, n in zip(rest, sizes, strict=True)):
                return None
            dims = stm.exp.dims
            fine, stop = scope.fresh("fine", Prim.BOOL), scope.fresh("stop", Prim.I64)
            written = (i64(int(start)), stop.name, *(a for n in sizes for a in (i64(0), n)))
            return (ir.Stm((fine,), ir.PrimOp("le", Prim.I64, (i64(0), count)), loc=stm.loc),
                    ir.Stm((stop,), ir.PrimOp("add", Prim.I64, (i64(int(start)), count))),
                    ir.Stm((), ir.Assert(fine.name, failures.access([2] * len(dims)),
                                         (*written, size, *sizes)), loc=stm.loc),
                    replace(stm, exp=ir.Index(array, dims, False)))
    return None


@rule(ir.Index)
def index_whole(scope: Scope, stm: ir.Stm) -> Replacement:
    """xs[:, :] ⇒ xs"""
    match stm.exp:
        case ir.Index(array, dims):
            shape = shape_of(scope.type(array))
            if all(is_whole(d, n) for d, n in zip(dims, shape, strict=True)):
                return ir.AtomExp(array)
    return None


@rule(ir.Index)
def index_iota(scope: Scope, stm: ir.Stm) -> Replacement:
    """(iota n s t)[i] ⇒ s + i * t,  (iota n s t)[a :+ m * b] ⇒ iota m (s + a * t) (b * t)

    Provided: the index is inside for certain or need not be checked.
    """
    match scope.looked_at(stm):
        case ir.Index(_, (dim,), checked), ir.Iota(count, start, step, prim) if (
                not checked or scope.inside(dim, count)):
            terms = IndexTerms(scope, stm)
            if isinstance(dim, ir.SliceDim):
                first = terms.affine(start, dim.start, step, prim)
                stride = terms.times(terms.as_prim(dim.stride, prim), step, prim)
                return terms.then(ir.Iota(dim.count, first, stride, prim))
            return terms.then(ir.AtomExp(terms.affine(start, dim, step, prim)))
    return None


@rule(ir.Index)
def index_replicate(scope: Scope, stm: ir.Stm) -> Replacement:
    """(replicate n x)[i] ⇒ x,  (replicate n x)[a :+ m, j] ⇒ replicate m x[j]

    Provided: the index into the replicated dimensions need not be checked, and what the index
    would look at lives long enough.
    """
    match scope.looked_at(stm):
        case ir.Index(_, dims, checked), ir.Replicate(shape, value) if not (
                isinstance(value, VName) and scope.consumes(value)):
            outer, inner = dims[: len(shape)], dims[len(shape) :]
            if checked and not all(map(scope.inside, outer, shape)):
                return None
            counts = tuple(d.count for d in outer if isinstance(d, ir.SliceDim))
            if not inner:
                return ir.Replicate(counts, value) if counts else ir.AtomExp(value)
            assert isinstance(value, VName)
            item = ir.Index(value, inner, checked)
            if not counts:
                return item
            param = scope.fresh("x", _indexed(scope.type(value), inner))
            return (ir.Stm((param,), item, loc=stm.loc),
                    ir.Stm(stm.pat, ir.Replicate(counts, param.name), stm.attrs, stm.loc))
    return None


@rule(ir.Index)
def index_index(scope: Scope, stm: ir.Stm) -> Replacement:
    """xs[i, :][j] ⇒ xs[i, j],  xs[a :+ n * b][j] ⇒ xs[a + j * b]

    Provided: a check of the result is as strict as the checks of both, and does not move into
    a lambda.
    Because: the check of xs[i, :] is done once outside, but for every element inside.
    """
    match scope.looked_at(stm):
        case ir.Index(array, dims, checked), ir.Index(origin, outer, checked_before):
            if checked_before and not (scope.here(array) and _slices_whole(scope, origin, outer)):
                return None
            if checked and not _as_strict(scope, array, origin, outer, dims):
                return None
            terms = IndexTerms(scope, stm)
            given = iter(dims)
            merged = tuple(terms.within(dim, next(given)) if isinstance(dim, ir.SliceDim)
                           else dim for dim in outer)
            return terms.then(ir.Index(origin, merged, checked or checked_before))
    return None


def _slices_whole(scope: Scope, array: VName, dims: tuple[ir.Dim, ...]) -> bool:
    """True if all slices among ``dims`` are whole, so that their check checks nothing."""
    sizes = shape_of(scope.type(array))
    return all(is_whole(dim, size) for dim, size in zip(dims, sizes, strict=True)
               if isinstance(dim, ir.SliceDim))


def _as_strict(scope: Scope, array: VName, origin: VName, outer: tuple[ir.Dim, ...],
               dims: tuple[ir.Dim, ...]) -> bool:
    """True if indices that are inside of ``origin`` are inside of the slice ``array`` too."""
    sizes = shape_of(scope.type(origin))
    slices = [is_whole(dim, size) for dim, size in zip(outer, sizes, strict=True)
              if isinstance(dim, ir.SliceDim)]
    shape = shape_of(scope.type(array))
    return all(same or scope.inside(dim, size)
               for same, dim, size in zip(slices, dims, shape, strict=True))


@rule(ir.Index)
def index_rearrange(scope: Scope, stm: ir.Stm) -> Replacement:
    """(rearrange p xs)[i...] ⇒ rearrange p' xs[i∘p⁻¹...]

    Provided: some index is not a slice.
    Because: p' orders the slices that are left; usually it is the identity.
    """
    match scope.looked_at(stm):
        case ir.Index(_, dims, checked), ir.Rearrange(perm, origin) if not all(
                isinstance(d, ir.SliceDim) for d in dims):
            back = tuple(dims[perm.index(k)] for k in range(len(perm)))
            index = ir.Index(origin, back, checked)
            kept = [k for k, dim in zip(perm, dims, strict=True) if isinstance(dim, ir.SliceDim)]
            order = tuple(sorted(kept).index(k) for k in kept)
            if order == tuple(range(len(order))):
                return index
            param = scope.fresh("x", _indexed(scope.type(origin), back))
            return (ir.Stm((param,), index, loc=stm.loc),
                    ir.Stm(stm.pat, ir.Rearrange(order, param.name), stm.attrs, stm.loc))
    return None


@rule(ir.Index)
def index_reshape(scope: Scope, stm: ir.Stm) -> Replacement:
    """(reshape s xs)[i...] ⇒ xs[i...]

    Provided: s and the shape of xs have the same rank and differ in at most one dimension.
    Because: both arrays have as many elements, so the sizes that are written differently are equal.
    """
    match scope.looked_at(stm):
        case ir.Index(_, dims, checked), ir.Reshape(shape, origin):
            before = shape_of(scope.type(origin))
            if len(before) == len(shape) and sum(
                    a != b for a, b in zip(before, shape, strict=True)) <= 1:
                return ir.Index(origin, dims, checked)
    return None


@rule(ir.Index)
def index_copy(scope: Scope, stm: ir.Stm) -> Replacement:
    """(copy xs)[i] ⇒ xs[i]

    Provided: nothing consumes xs, which lives longer now.
    """
    match scope.looked_at(stm):
        case ir.Index(_, dims, checked), ir.Copy(origin) if not scope.consumes(origin):
            return ir.Index(origin, dims, checked)
    return None


@rule(ir.Index)
def index_literal(scope: Scope, stm: ir.Stm) -> Replacement:
    """[a₀, ..., aₖ][c] ⇒ a_c,  [a₀, ..., aₖ][c, i] ⇒ a_c[i]

    Provided: c is a constant that is inside, and nothing consumes a_c.
    """
    match scope.looked_at(stm):
        case ir.Index(_, (Const(c), *rest), checked), ir.ArrayLit(elems, _) if 0 <= c < len(elems):
            elem = elems[int(c)]
            if not rest:
                return ir.AtomExp(elem)
            if isinstance(elem, VName) and not scope.consumes(elem):
                return ir.Index(elem, tuple(rest), checked)
    return None


@rule(ir.Index)
def index_update(scope: Scope, stm: ir.Stm) -> Replacement:
    """(xs with [i] <- v)[i] ⇒ v

    Provided: the update is not checked.
    Does not handle: other indices; xs would have to live longer.
    """
    match scope.looked_at(stm):
        case ir.Index(_, dims), ir.Update(_, same, value, False) if same == dims and not (
                isinstance(value, VName) and scope.consumes(value)):
            return ir.AtomExp(value)
    return None


@rule(ir.Rearrange)
def rearrange_twice(scope: Scope, stm: ir.Stm) -> Replacement:
    """rearrange p (rearrange q xs) ⇒ rearrange (q ∘ p) xs"""
    match scope.looked_at(stm):
        case ir.Rearrange(perm, _), ir.Rearrange(inner, origin):
            return ir.Rearrange(tuple(inner[k] for k in perm), origin)
    return None


@rule(ir.Rearrange)
def rearrange_nothing(scope: Scope, stm: ir.Stm) -> Replacement:
    """rearrange id xs ⇒ xs"""
    match stm.exp:
        case ir.Rearrange(perm, array) if perm == tuple(range(len(perm))):
            return ir.AtomExp(array)
    return None


@rule(ir.Rearrange)
def rearrange_replicate(scope: Scope, stm: ir.Stm) -> Replacement:
    """rearrange p (replicate (n...) x) ⇒ replicate (n∘p...) x

    Provided: x is a scalar.
    """
    match scope.looked_at(stm):
        case ir.Rearrange(perm, _), ir.Replicate(shape, value) if len(shape) == len(perm):
            return ir.Replicate(tuple(shape[k] for k in perm), value)
    return None


@rule(ir.Reshape)
def reshape_twice(scope: Scope, stm: ir.Stm) -> Replacement:
    """reshape s (reshape t xs) ⇒ reshape s xs

    Because: the front end has asserted that the sizes of a reshape agree.
    """
    match scope.looked_at(stm):
        case ir.Reshape(shape, _), ir.Reshape(_, origin):
            return ir.Reshape(shape, origin)
    return None


@rule(ir.Reshape)
def reshape_nothing(scope: Scope, stm: ir.Stm) -> Replacement:
    """reshape s xs ⇒ xs

    Provided: s is the shape of xs.
    """
    match stm.exp:
        case ir.Reshape(shape, array) if shape_of(scope.type(array)) == shape:
            return ir.AtomExp(array)
    return None


@rule(ir.Reshape)
def reshape_replicate(scope: Scope, stm: ir.Stm) -> Replacement:
    """reshape (s) (replicate (n) x) ⇒ replicate (s) x

    Provided: x is a scalar, and both shapes hold the same sizes apart from 1.
    """
    match scope.looked_at(stm):
        case ir.Reshape(shape, _), ir.Replicate(before, value) if (
                not shape_of(scope.type(value)) and _factors(before) == _factors(shape)):
            return ir.Replicate(shape, value)
    return None


def _factors(shape: tuple[Atom, ...]) -> list[Atom]:
    return sorted((size for size in shape if size != i64(1)), key=str)


@rule(ir.Copy)
def copy_twice(scope: Scope, stm: ir.Stm) -> Replacement:
    """copy (copy xs) ⇒ copy xs

    Provided: nothing consumes xs, which lives longer now.
    """
    match scope.looked_at(stm):
        case ir.Copy(_), ir.Copy(origin) if not scope.consumes(origin):
            return ir.Copy(origin)
    return None


@rule(ir.Copy)
def copy_generated(scope: Scope, stm: ir.Stm) -> Replacement:
    """copy (iota n) ⇒ iota n,  copy (replicate n x) ⇒ replicate n x

    Provided: x is a scalar.
    """
    match scope.looked_at(stm):
        case ir.Copy(_), ir.Iota() as made:
            return made
        case ir.Copy(_), ir.Replicate(_, value) as made if not shape_of(scope.type(value)):
            return made
    return None


@rule(ir.Replicate)
def replicate_twice(scope: Scope, stm: ir.Stm) -> Replacement:
    """replicate n (replicate m x) ⇒ replicate (n, m) x

    Provided: nothing consumes x.
    """
    match scope.looked_at(stm):
        case ir.Replicate(shape, _), ir.Replicate(inner, origin) if not (
                isinstance(origin, VName) and scope.consumes(origin)):
            return ir.Replicate((*shape, *inner), origin)
    return None


@rule(ir.Concat)
def concat_concat(scope: Scope, stm: ir.Stm) -> Replacement:
    """concat (concat xs ys) zs ⇒ concat xs ys zs

    Provided: both are along the same dimension and nothing consumes xs or ys.
    """
    match stm.exp:
        case ir.Concat(dim, arrays, size):
            flat: list[VName] = []
            for array in arrays:
                match scope.exp(array):
                    case ir.Concat(inner, parts, _) if inner == dim and not any(
                        map(scope.consumes, parts)
                    ):
                        flat += parts
                    case _:
                        flat.append(array)
            if len(flat) > len(arrays):
                return ir.Concat(dim, tuple(flat), size)
    return None


@rule(ir.Concat)
def concat_empty(scope: Scope, stm: ir.Stm) -> Replacement:
    """concat xs [] ⇒ concat xs,  concat xs ⇒ copy xs"""
    match stm.exp:
        case ir.Concat(dim, arrays, size):
            if len(arrays) == 1:
                return ir.Copy(arrays[0])
            kept = tuple(a for a in arrays if shape_of(scope.type(a))[dim] != i64(0))
            if kept and len(kept) < len(arrays):
                return ir.Concat(dim, kept, size)
    return None


@rule(ir.Update)
def update_own_element(scope: Scope, stm: ir.Stm) -> Replacement:
    """xs with [i] <- xs[i] ⇒ xs"""
    match stm.exp:
        case ir.Update(array, dims, value):
            match scope.exp(value):
                case ir.Index(same, inner) if same == array and inner == dims:
                    return ir.AtomExp(array)
    return None


@rule(ir.Update)
def update_whole(scope: Scope, stm: ir.Stm) -> Replacement:
    """xs with [:] <- ys ⇒ copy ys

    Provided: the slice is the whole of xs.
    """
    match stm.exp:
        case ir.Update(array, dims, VName() as value) if all(
            is_whole(d, n)
            for d, n in zip(dims, shape_of(scope.type(array)), strict=True)
        ):
            return ir.Copy(value)
    return None


def _indexed(type_: Type, dims: Iterable[ir.Dim]) -> Type:
    """The type of ``xs[dims]`` for an ``xs`` of the type."""
    counts = tuple(d.count for d in dims if isinstance(d, ir.SliceDim))
    return ArrayType(elem_of(type_), counts) if counts else elem_of(type_)


class IndexTerms:
    """Index arithmetic in front of a statement, without operations that do nothing."""

    def __init__(self, scope: Scope, stm: ir.Stm) -> None:
        self.scope = scope
        self.stm = stm
        self.stms: list[ir.Stm] = []

    def then(self, exp: ir.AtomExp | ir.Index | ir.Iota | ir.Pad) -> tuple[ir.Stm, ...]:
        """The arithmetic, then the statement with ``exp`` instead of its expression."""
        return (*self.stms, ir.Stm(self.stm.pat, exp, self.stm.attrs, self.stm.loc))

    def within(self, outer: ir.SliceDim, dim: ir.Dim) -> ir.Dim:
        """The index into the sliced dimension that ``dim`` is inside of the slice."""
        if isinstance(dim, ir.SliceDim):
            return ir.SliceDim(self.affine(outer.start, dim.start, outer.stride), dim.count,
                            self.times(dim.stride, outer.stride))
        return self.affine(outer.start, dim, outer.stride)

    def affine(self, start: Atom, index: Atom, step: Atom, prim: Prim = Prim.I64) -> Atom:
        """``start + index * step``; the index is an i64."""
        return self.plus(start, self.times(self.as_prim(index, prim), step, prim), prim)

    def as_prim(self, index: Atom, prim: Prim) -> Atom:
        """The i64 ``index`` as a ``prim``."""
        return index if prim is Prim.I64 else self._emit(ir.Convert(Prim.I64, prim, index), prim)

    def plus(self, x: Atom, y: Atom, prim: Prim = Prim.I64) -> Atom:
        """``x + y``."""
        if x == Const(0, prim):
            return y
        return x if y == Const(0, prim) else self._emit(ir.PrimOp("add", prim, (x, y)), prim)

    def times(self, x: Atom, y: Atom, prim: Prim = Prim.I64) -> Atom:
        """``x * y``."""
        if x == Const(1, prim):
            return y
        return x if y == Const(1, prim) else self._emit(ir.PrimOp("mul", prim, (x, y)), prim)

    def _emit(self, exp: ir.PrimOp | ir.Convert, prim: Prim) -> Atom:
        param = self.scope.fresh("i", prim)
        self.stms.append(ir.Stm((param,), exp, loc=self.stm.loc))
        return param.name


INDEX = RuleBook([
    check_inside, slice_of_rest, index_whole, index_iota, index_replicate, index_index,
    index_rearrange, index_reshape, index_copy, index_literal, index_update, rearrange_twice,
    rearrange_nothing, rearrange_replicate, reshape_twice, reshape_nothing, reshape_replicate,
    copy_twice, copy_generated, replicate_twice, concat_concat, concat_empty, update_own_element,
    update_whole,
])
