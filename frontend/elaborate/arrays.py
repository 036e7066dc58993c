"""Operations on array values: the meaning of indexing, layouts and second-order functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from runelift.frontend.check.base import IRREGULAR_HINTS
from runelift.frontend.elaborate.builder import Builder, Scope
from runelift.frontend.elaborate.values import (
    Accumulator,
    Dynamic,
    RecordValue,
    SumValue,
    TupleValue,
    Value,
    complete,
    each_leaf,
    leaves,
    outer_size,
    rebuild,
)
from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import SCRATCH
from runelift.ir.base import failures
from runelift.ir.base.errors import CompilerLimitation, Diagnostic, ProgramError
from runelift.ir.base.source import Span
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.traverse import statements_inside
from runelift.ir.types import (
    TRUE,
    ArrayType,
    Atom,
    Const,
    Type,
    array_of,
    elem_of,
    i64,
    row_of,
    shape_of,
    zero,
)

Apply = Callable[[tuple[Value, ...]], Value]


class Recurs(CompilerLimitation):
    """A kernel would call a function that calls itself."""


class Combined(NamedTuple):
    """An operator, its neutral element, and a destination, with all payloads that it makes."""

    combine: Apply
    neutral: Value
    dest: Value


class Arrays:
    """Builds core operations from array values."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.checked = True
        self.lambdas = 0
        """The lambdas around."""

    def _name(self, leaf: Dynamic, span: Span) -> VName:
        return self.builder.rename(leaf.atom, leaf.type, span)

    def _names(self, values: Sequence[Value], span: Span) -> tuple[VName, ...]:
        """The names of all parts of values."""
        return tuple(self._name(leaf, span) for value in values for leaf in leaves(value))

    def _made(self, node: ir.Exp, type_: Type, base: str, span: Span) -> Dynamic:
        """The result of a core operation."""
        return Dynamic(self.builder.emit1(node, type_, base, span), type_)

    def _same_size(self, first: Value, others: Sequence[Value], span: Span) -> Atom:
        """The common outer size, checked at run time where it is not the same atom."""
        width = outer_size(first)
        for other in others:
            size = outer_size(other)
            if size != width:
                self.require_equal(width, size, span)
        return width

    def require_equal(self, left: Atom, right: Atom, span: Span) -> None:
        """Fail at run time unless two sizes are equal."""
        if left == right:
            return
        equal = self.builder.op("eq", Prim.I64, (left, right), span)
        if equal == Const(True, Prim.BOOL):
            return
        self.builder.emit_stm((), ir.Assert(equal, failures.SIZES, (left, right)), span)

    def require_length(self, count: Atom, span: Span) -> None:
        """Fail at run time unless ``count`` can be the length of an array."""
        fine = self.builder.op("le", Prim.I64, (i64(0), count), span)
        if fine != Const(True, Prim.BOOL):
            self.builder.emit_stm((), ir.Assert(fine, failures.SIZE, (count,)), span)

    # Sum types

    def complete(self, value: Value, other: Value, span: Span,
                 hidden: Scope | None = None) -> Value:
        """``value`` with blanks for the payloads that only ``other`` has.

        Sizes that ``hidden`` binds are not known here; the blanks have length 0 there.
        """
        def size(atom: Atom) -> Atom:
            return atom if hidden is None or self.builder.visible(atom, hidden) else i64(0)

        def blank(leaf: Dynamic, there: Dynamic, here: Dynamic) -> Dynamic:
            inner = shape_of(leaf.type)[len(shape_of(there.type)):]
            type_ = array_of((*shape_of(here.type), *map(size, inner)), elem_of(leaf.type))
            return self.blank(type_, span)

        return complete(value, other, blank)

    def aligned(self, values: Sequence[Value], span: Span) -> list[Value]:
        """Values of one type, made equal in the payloads that they have."""
        widest = values[0]
        for value in values[1:]:
            widest = self.complete(widest, value, span)
        return [widest, *(self.complete(value, widest, span) for value in values[1:])]

    def combined(self, f: Apply, neutral: Value, dest: Value, span: Span) -> Combined:
        """An operator that combines values with the elements of a destination."""
        neutral, dest = self.aligned([neutral, dest], span)
        f, neutral = self._stable(f, neutral, span)
        return Combined(f, neutral, self.complete(dest, neutral, span))

    def _stable(self, f: Apply, neutral: Value, span: Span) -> tuple[Apply, Value]:
        """An operator on sum types, and its neutral element with all payloads it can make."""
        if not _has_sum(neutral):
            return f, neutral
        while True:
            _, result, scope = self.lam(f, [neutral, neutral], span)
            wider = self.complete(neutral, result, span, scope)
            if len(list(leaves(wider))) == len(list(leaves(neutral))):
                return partial(self._completed, f, neutral, span), neutral
            neutral = wider

    def _completed(self, f: Apply, neutral: Value, span: Span, args: tuple[Value, ...]) -> Value:
        return self.complete(f(args), neutral, span)

    # Lambdas

    def lam(self, f: Apply, rows: Sequence[Value], span: Span) -> tuple[ir.Lambda, Value, Scope]:
        """``f`` of values shaped as ``rows`` as a core lambda; also its result as a value."""
        self.lambdas += 1
        with self.builder.scope() as scope:
            params: list[ir.Param] = []
            args: list[Value] = []
            for row in rows:
                fresh = [self.builder.fresh("x", leaf.type) for leaf in leaves(row)]
                params += fresh
                args.append(rebuild(row, iter([Dynamic(p.name, p.type) for p in fresh])))
            result = f(tuple(args))
            parts = tuple(leaves(result))
        self.lambdas -= 1
        lam = self.builder.lambda_(tuple(params), scope, tuple(p.atom for p in parts),
                                   tuple(p.type for p in parts))
        return lam, result, scope

    def rows(self, arrays: Sequence[Value]) -> list[Value]:
        """The elements of arrays, as patterns: the leaves have the types of rows."""
        return [each_leaf(lambda leaf: Dynamic(leaf.atom, row_of(leaf.type)), a) for a in arrays]

    def _operator(self, f: Apply, neutral: Value, span: Span, *, comm: bool = False) -> ir.Operator:
        lam, _, _ = self.lam(f, [neutral, neutral], span)
        types = tuple(leaf.type for leaf in leaves(neutral))
        atoms = tuple(leaf.atom for leaf in leaves(neutral))
        lam = ir.Lambda(lam.params, lam.body, types)
        return ir.Operator(lam, atoms, comm or _commutative(lam))

    def _combining(self, f: Apply, neutral: Value, span: Span) -> ir.Operator:
        """The operator of a histogram, which kernels apply."""
        op = self._operator(f, neutral, span, comm=True)
        if _recurs(op.lam):
            raise Recurs(f"{span}: the operator of a histogram calls a function that calls itself, "
                         "which kernels cannot.")
        return op

    def _bound(self, node: ir.Exp, types: tuple[Type, ...], base: str, like: Value,
               span: Span) -> Value:
        """The results of ``node``, of the given types, as a value of the structure of ``like``."""
        names = self.builder.emit(node, types, (base,) * len(types), span)
        return rebuild(like, map(Dynamic, names, types))

    # Second-order functions

    def map(self, f: Apply, arrays: Sequence[Value], span: Span) -> Value:
        """``map f arrays``."""
        width = self._same_size(arrays[0], arrays[1:], span)
        lam, result, scope = self.lam(f, self.rows(arrays), span)
        for size in (size for type_ in lam.ret for size in shape_of(type_)):
            if not self.builder.release(size, scope):
                raise ProgramError(Diagnostic(
                    "irregular-array", span, "The size of the rows of this map is known only "
                    "inside of it, so it might be another one for each.",
                    hints=IRREGULAR_HINTS))
        lam = replace(lam, body=self.builder.body(scope, lam.body.result))
        inputs = self._names(arrays, span)
        types = tuple(array_of((width,), type_) for type_ in lam.ret)
        return self._bound(ir.Map(width, lam, inputs), types, "ys", result, span)

    def _identity(self, array: Value) -> ir.Lambda:
        params = tuple(ir.Param(self.builder.names.fresh("x"), row_of(leaf.type))
                       for leaf in leaves(array))
        return ir.Lambda(params, ir.Body((), tuple(p.name for p in params)),
                      tuple(p.type for p in params))

    def reduce(self, f: Apply, neutral: Value, array: Value, span: Span, *,
               comm: bool = False) -> Value:
        """``reduce f neutral array``; ``comm``: the program says that ``f`` is commutative."""
        neutral, array = self.aligned([neutral, array], span)
        f, neutral = self._stable(f, neutral, span)
        array = self.complete(array, neutral, span)
        op = self._operator(f, neutral, span, comm=comm)
        inputs = self._names([array], span)
        node = ir.Redomap(outer_size(array), (op,), self._identity(array), inputs)
        return self._bound(node, op.lam.ret, "r", neutral, span)

    def scan(self, f: Apply, neutral: Value, array: Value, span: Span) -> Value:
        """``scan f neutral array``, inclusive."""
        neutral, array = self.aligned([neutral, array], span)
        f, neutral = self._stable(f, neutral, span)
        array = self.complete(array, neutral, span)
        op = self._operator(f, neutral, span)
        width = outer_size(array)
        inputs = self._names([array], span)
        node = ir.Scanomap(width, (op,), self._identity(array), inputs)
        types = tuple(array_of((width,), t) for t in op.lam.ret)
        return self._bound(node, types, "ss", neutral, span)

    def scatter(self, dest: Value, indices: Sequence[Dynamic], values: Value, span: Span) -> Value:
        """``scatter dest indices values`` with one array of indices per dimension."""
        width = self._same_size(indices[0], [*indices[1:], values], span)
        dest, values = self.aligned([dest, values], span)
        rank = len(indices)
        rows = self.rows([*indices, values])
        dests = tuple(ir.Dest(self._name(leaf, span), rank) for leaf in leaves(dest))
        lam, _, _ = self.lam(TupleValue, rows, span)
        index, vals = lam.body.result[:rank], lam.body.result[rank:]
        index_types, value_types = lam.ret[:rank], lam.ret[rank:]
        result = tuple(a for v in vals for a in (*index, v))
        ret = tuple(t for v in value_types for t in (*index_types, v))
        lam = ir.Lambda(lam.params, ir.Body(lam.body.stms, result), ret)
        inputs = self._names([*indices, values], span)
        types = tuple(leaf.type for leaf in leaves(dest))
        return self._bound(ir.Scatter(width, lam, inputs, dests), types, "ds", dest, span)

    def hist(self, dest: Value, f: Apply, neutral: Value, bins: Dynamic, values: Value,
             span: Span) -> Value:
        """``reduce_by_index dest f neutral bins values``."""
        width = self._same_size(bins, [values], span)
        neutral, dest, values = self.aligned([neutral, dest, values], span)
        f, neutral = self._stable(f, neutral, span)
        dest, values = (self.complete(v, neutral, span) for v in (dest, values))
        op = self._combining(f, neutral, span)
        dests = self._names([dest], span)
        lam, _, _ = self.lam(TupleValue, self.rows([bins, values]), span)
        inputs = self._names([bins, values], span)
        types = tuple(leaf.type for leaf in leaves(dest))
        node = ir.Hist(width, (ir.HistOp(outer_size(dest), dests, op),), lam, inputs)
        return self._bound(node, types, "hs", dest, span)

    def accumulate(self, dest: Value, operator: tuple[Apply, Value] | None, f: Apply, array: Value,
                   span: Span) -> Value:
        """``scatter_stream``, or ``reduce_by_index_stream`` with an operator and its neutral."""
        ops: tuple[ir.Operator, ...] = ()
        if operator is not None:
            combine, neutral, dest = self.combined(*operator, dest, span)
            ops = (self._combining(combine, neutral, span),)
        (element,) = self.rows([dest])
        with self.builder.scope() as scope:
            acc = self.builder.fresh("acc", Prim.BOOL)
            rows = self.rows([array])
            params = [self.builder.fresh("x", leaf.type) for leaf in leaves(rows[0])]
            row = rebuild(rows[0], iter([Dynamic(p.name, p.type) for p in params]))
            token = Accumulator(Dynamic(acc.name, Prim.BOOL), acc.name, element)
            (last,) = leaves(f((token, row)))  # a hole's, perhaps
            result = last.atom if isinstance(last.atom, VName) else acc.name
        lam = self.builder.lambda_((acc, *params), scope, (result,), (Prim.BOOL,))
        if _recurs(lam):
            raise Recurs(f"{span}: a function that writes to an accumulator calls one that calls "
                         "itself.")
        dests = self._names([dest], span)
        inputs = self._names([array], span)
        types = tuple(leaf.type for leaf in leaves(dest))
        node = ir.Accumulate(outer_size(array), dests, ops, lam, inputs)
        return self._bound(node, types, "accs", dest, span)

    def write(self, acc: Accumulator, index: Atom, value: Value, span: Span) -> Accumulator:
        """The accumulator after a write."""
        value = self.complete(value, acc.element, span)
        atoms = tuple(leaf.atom for leaf in leaves(value))
        if len(atoms) != len(list(leaves(acc.element))):
            raise CompilerLimitation("An accumulator for values of a sum type needs a destination "
                                     "that has values of all constructors.")
        (before,) = leaves(acc.token)
        assert acc.acc is not None
        node = ir.AccWrite(acc.acc, before.atom, index, atoms)
        token = self.builder.emit1(node, Prim.BOOL, "acc", span)
        return replace(acc, token=Dynamic(token, Prim.BOOL))

    def partition(self, predicates: Sequence[Apply], array: Value, span: Span) -> list[Value]:
        """The elements that satisfy the first predicate, the second, ..., and none.

        Flags, their running sums, and a scatter: the order of elements is kept.
        """
        builder = self.builder
        width = outer_size(array)
        prim = Prim.I64

        def flags(args: tuple[Value, ...]) -> Value:
            taken: Atom = Const(False, Prim.BOOL)
            found: list[Value] = []
            for predicate in predicates:
                (holds,) = leaves(predicate(args))
                free = builder.op("not", Prim.BOOL, (taken,), span)
                here = builder.op("and", Prim.BOOL, (free, holds.atom), span)
                taken = builder.op("or", Prim.BOOL, (taken, here), span)
                found.append(Dynamic(builder.convert(Prim.BOOL, prim, here, span), prim))
            rest = builder.op("not", Prim.BOOL, (taken,), span)
            found.append(Dynamic(builder.convert(Prim.BOOL, prim, rest, span), prim))
            return TupleValue(tuple(found))

        classes = self.map(flags, [array], span)
        assert isinstance(classes, TupleValue)
        parts: list[Value] = []
        for flag in classes.items:
            assert isinstance(flag, Dynamic)
            sums = self.scan(lambda args: Dynamic(builder.op("add", prim, tuple(
                leaf.atom for arg in args for leaf in leaves(arg)), span), prim),
                Dynamic(i64(0), prim), flag, span)
            assert isinstance(sums, Dynamic)
            found = self._last_or_zero(sums, width, span)
            count = builder.op("min", prim, (found, width), span, "count")  # bounds the memory

            def place(args: tuple[Value, ...]) -> Value:
                (here,), (total,) = leaves(args[0]), leaves(args[1])
                scaled = builder.op("mul", prim, (here.atom, total.atom), span)
                return Dynamic(builder.op("sub", prim, (scaled, i64(1)), span), prim)

            positions = self.map(place, [flag, sums], span)
            assert isinstance(positions, Dynamic)
            with builder.attribute(SCRATCH):  # there is an element for every place
                blank = each_leaf(lambda leaf, count=count: self.blank(
                    array_of((count,), row_of(leaf.type)), span), array)
            parts.append(self.scatter(blank, [positions], array, span))
        return parts

    def _last_or_zero(self, sums: Dynamic, width: Atom, span: Span) -> VName:
        builder = self.builder
        empty = builder.op("eq", Prim.I64, (width, i64(0)), span)
        with builder.scope() as none:
            pass
        with builder.scope() as some:
            last = builder.op("sub", Prim.I64, (width, i64(1)), span)
            value = builder.emit1(ir.Index(self._name(sums, span), (last,)), Prim.I64, "count",
                                  span)
        node = ir.If(empty, builder.body(none, (i64(0),)), builder.body(some, (value,)),
                     (Prim.I64,))
        return builder.emit1(node, Prim.I64, "count", span)

    def blank(self, type_: Type, span: Span) -> Dynamic:
        """A scalar zero, or an array of zeros, of the type."""
        if isinstance(type_, Prim):
            return Dynamic(zero(type_), type_)
        blank = ir.Replicate(shape_of(type_), zero(elem_of(type_)))
        return self._made(blank, type_, "blank", span)

    # Layout

    def iota(self, count: Atom, start: Atom, step: Atom, prim: Prim, span: Span) -> Dynamic:
        """``start, start + step, ...``."""
        self.require_length(count, span)
        return self._made(ir.Iota(count, start, step, prim), ArrayType(prim, (count,)), "is", span)

    def replicate(self, count: Atom, value: Value, span: Span) -> Value:
        """``replicate count value``."""
        self.require_length(count, span)

        def leaf(part: Dynamic) -> Dynamic:
            return self._made(ir.Replicate((count,), part.atom), array_of((count,), part.type),
                              "rs", span)
        return each_leaf(leaf, value)

    def rearrange(self, perm: tuple[int, ...], value: Value, span: Span) -> Value:
        """Permute the outer dimensions."""
        def leaf(part: Dynamic) -> Dynamic:
            shape = shape_of(part.type)
            full = (*perm, *range(len(perm), len(shape)))
            type_ = ArrayType(elem_of(part.type), tuple(shape[k] for k in full))
            node = ir.Rearrange(full, self._name(part, span))
            return self._made(node, type_, "ts", span)
        return each_leaf(leaf, value)

    def reshape(self, outer: int, shape: tuple[Atom, ...], value: Value, span: Span) -> Value:
        """Replace the ``outer`` outermost dimensions by ``shape``."""
        def leaf(part: Dynamic) -> Dynamic:
            new = (*shape, *shape_of(part.type)[outer:])
            if new == shape_of(part.type):
                return part
            type_ = ArrayType(elem_of(part.type), new)
            node = ir.Reshape(new, self._name(part, span))
            return self._made(node, type_, "fs", span)
        return each_leaf(leaf, value)

    def concat(self, left: Value, right: Value, span: Span) -> Value:
        """``left ++ right``."""
        size = self.builder.op("add", Prim.I64, (outer_size(left), outer_size(right)), span)
        left, right = self.aligned([left, right], span)

        def joined(a: Dynamic, b: Dynamic) -> Dynamic:
            type_ = array_of((size,), row_of(a.type))
            node = ir.Concat(0, (self._name(a, span), self._name(b, span)), size)
            return self._made(node, type_, "cs", span)

        return each_leaf(joined, left, right)

    def slide(self, size: Atom, step: Atom, value: Value, span: Span) -> Value:
        """Windows of ``size`` elements, each ``step`` behind the last."""
        op, length = self.builder.op, outer_size(value)
        smaller = op("min", Prim.I64, (size, step), span)
        self._require(op("lt", Prim.I64, (i64(0), smaller), span), failures.WINDOWS,
                      (size, step), span)
        rest = op("div", Prim.I64, (op("sub", Prim.I64, (length, size), span), step), span)
        count = op("add", Prim.I64, (rest, i64(1)), span)
        self._require(op("le", Prim.I64, (i64(0), count), span), failures.TOO_SHORT,
                      (size, step, length), span)

        def leaf(part: Dynamic) -> Dynamic:
            type_ = array_of((count, size), row_of(part.type))
            node = ir.Slide(0, size, step, count, self._name(part, span))
            return self._made(node, type_, "ws", span)
        return each_leaf(leaf, value)

    def pad(self, before: Atom, after: Atom, value: Value, array: Value, span: Span) -> Value:
        """``array`` between copies of ``value``; where elements are arrays, joined to them."""
        value, array = self.aligned([value, array], span)
        front = self.builder.op("add", Prim.I64, (before, outer_size(array)), span)
        size = self.builder.op("add", Prim.I64, (front, after), span)
        self.require_length(size, span)

        def padded(part: Dynamic, rim: Dynamic) -> Dynamic:
            type_ = array_of((size,), row_of(part.type))
            node: ir.Exp
            if isinstance(rim.type, Prim):
                node = ir.Pad(0, before, after, rim.atom, self._name(part, span))
            else:
                parts = (self.replicate(before, rim, span), part, self.replicate(after, rim, span))
                node = ir.Concat(0, tuple(self._name(each, span) for each in parts
                                          if isinstance(each, Dynamic)), size)
            return self._made(node, type_, "ps", span)

        return each_leaf(padded, array, value)

    def _require(self, holds: Atom, message: str, values: tuple[Atom, ...], span: Span) -> None:
        """Fail at run time with a message unless a condition holds."""
        if holds != TRUE:
            self.builder.emit_stm((), ir.Assert(holds, message, values), span)

    def copy(self, value: Value, span: Span) -> Value:
        """A value whose arrays are copied to fresh memory."""
        def leaf(part: Dynamic) -> Dynamic:
            if isinstance(part.type, Prim):
                return part
            node = ir.Copy(self._name(part, span))
            return self._made(node, part.type, "copy", span)
        return each_leaf(leaf, value)

    def slice(self, value: Value, start: Atom, count: Atom, span: Span, *,
              stride: Atom | None = None, checked: bool = True) -> Value:
        """``count`` elements from ``start``."""
        return self.index(value, [ir.SliceDim(start, count, stride or i64(1))], span,
                          checked=checked)

    def index(self, value: Value, dims: Sequence[ir.Dim], span: Span, *,
              checked: bool = True) -> Value:
        """``value[dims]``; missing dimensions stay whole."""
        def leaf(part: Dynamic) -> Dynamic:
            full = _full(dims, part.type)
            kept = tuple(d.count for d in full if isinstance(d, ir.SliceDim))
            type_ = array_of(kept, elem_of(part.type))
            node = ir.Index(self._name(part, span), full, checked and self.checked)
            return self._made(node, type_, "x", span)
        return each_leaf(leaf, value)

    def update(self, array: Value, dims: Sequence[ir.Dim], value: Value, span: Span) -> Value:
        """``array with [dims] = value``."""
        def leaf(part: Dynamic, new: Dynamic) -> Dynamic:
            full = _full(dims, part.type)
            counts = [d.count for d in full if isinstance(d, ir.SliceDim)]
            for count, size in zip(counts, shape_of(new.type), strict=True):
                self.require_equal(count, size, span)
            node = ir.Update(self._name(part, span), full, new.atom, self.checked)
            return self._made(node, part.type, "xs", span)

        array, value = self.aligned([array, value], span)
        return each_leaf(leaf, array, value)

    def retype(self, leaf: Dynamic, shape: tuple[Atom, ...], span: Span) -> Dynamic:
        """The array with sizes that are equal but have other names."""
        if shape == shape_of(leaf.type):
            return leaf
        return self._made(ir.Reshape(shape, self._name(leaf, span)),
                          ArrayType(elem_of(leaf.type), shape), "xs", span)

    def name(self, leaf: Dynamic, span: Span) -> Dynamic:
        """A leaf with a name: constants get a variable."""
        if isinstance(leaf.atom, VName):
            return leaf
        return self._made(ir.AtomExp(leaf.atom), leaf.type, "c", span)


def _full(dims: Sequence[ir.Dim], type_: Type) -> tuple[ir.Dim, ...]:
    """Indices for all dimensions of an array; missing dimensions stay whole."""
    return (*dims, *(ir.SliceDim(i64(0), n, i64(1)) for n in shape_of(type_)[len(dims):]))


def _has_sum(value: Value) -> bool:
    match value:
        case SumValue():
            return True
        case TupleValue(items):
            return any(map(_has_sum, items))
        case RecordValue(fields):
            return any(_has_sum(item) for _, item in fields)
    return False


def _commutative(lam: ir.Lambda) -> bool:
    """True if an operator is a commutative primitive operation on its two parameters."""
    if len(lam.params) != 2 or len(lam.body.stms) != 1:
        return False
    (stm,) = lam.body.stms
    match stm.exp:
        case ir.PrimOp(op, _, args):
            return (OPS[op].commutative and set(args) == {p.name for p in lam.params}
                    and lam.body.result == (stm.pat[0].name,))
    return False


def _recurs(lam: ir.Lambda) -> bool:
    """True if a lambda calls a function that calls itself."""
    return any(isinstance(stm.exp, ir.Call | ir.Recursion)
               for stm in statements_inside((lam.body,)))
