"""Values of the interpreter: NumPy arrays that are read, written and put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from runelift.ir import syntax as ir
from runelift.ir.base import failures
from runelift.ir.base.array_limits import check_room
from runelift.ir.base.errors import ProgramFailure
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import Ragged
from runelift.ir.types import ArrayType, Atom, Const, Type, elem_of, i64, row_of, shape_of

Value: TypeAlias = Any
"""A NumPy scalar or a NumPy array."""
Env: TypeAlias = dict[VName, Value]


def atom(a: Atom, env: Env) -> Value:
    """The value of an atom."""
    return env[a] if isinstance(a, VName) else a.prim.dtype.type(a.value)


def size_in(a: Atom, env: Env) -> int:
    """The value of an atom that is a size; it fails if it is negative."""
    size = int(atom(a, env))
    if size < 0:
        raise ProgramFailure(failures.SIZE.format(size))
    return size


def ragged_of(space: ir.Space) -> Ragged | None:
    """The lengths of the segments of a space whose last dimension is ragged."""
    return space[-1].ragged if space else None


def lengths_of(ragged: Ragged, env: Env) -> list[int]:
    """The lengths of all segments; it fails if one is negative, as any size."""
    lengths: list[int] = env[ragged.lengths].tolist()
    for length in lengths:
        if length < 0:
            raise ProgramFailure(failures.SIZE.format(length))
    return lengths


def windows(array: Value, dim: int, size: int, step: int, count: int) -> Value:
    """``count`` windows of ``size`` elements along a dimension, each ``step`` further."""
    check_room((*array.shape[:dim], count, size, *array.shape[dim + 1:]), array.itemsize)
    places = np.add.outer(np.arange(count) * step, np.arange(size))
    if not array.shape[dim]:
        places = places[:0]
    return np.take(array, places, axis=dim, mode="clip")


def padded(array: Value, dim: int, before: int, after: int, value: Value) -> Value:
    """An array with copies of a scalar in front and behind, along a dimension."""
    length = array.shape[dim]
    total = max(0, before + length + after)
    shape = (*array.shape[:dim], total, *array.shape[dim + 1:])
    check_room(shape, array.itemsize)
    padded = np.full(shape, value, array.dtype)
    first, last = max(0, -before), min(length, total - before)
    if first < last:
        around = (slice(None),) * dim
        padded[(*around, slice(first + before, last + before))] = array[
            (*around, slice(first, last))]
    return padded


def selection(dims: tuple[ir.Dim, ...], env: Env, shape: tuple[int, ...],
              checked: bool) -> tuple[Any, ...]:
    """The NumPy index of ``dims``, with bounds checks: also where a device need not make them."""
    written = [_written(dim, env) for dim in dims]
    found: list[Any] = []
    for dim, place, size in zip(dims, written, shape, strict=True):
        start = place[0]
        if not isinstance(dim, ir.SliceDim):
            found.append(start)
            if 0 <= start < size:
                continue
        else:
            count, stride = (int(atom(a, env)) for a in (dim.count, dim.stride))
            last, stop = start + (count - 1) * stride, start + count * stride
            found.append(slice(start, None if stop < 0 else stop, stride) if count
                         else slice(0, 0))
            if count == 0 or (count > 0 and 0 <= start < size and 0 <= last < size):
                continue
        values = [value for each in written for value in each]
        raise ProgramFailure(failures.access([len(each) for each in written], checked).format(
            *values, *shape))
    return tuple(found)


def _written(dim: ir.Dim, env: Env) -> tuple[int, ...]:
    """A dimension of an access as a program writes it: an index, or start, stop and step."""
    if not isinstance(dim, ir.SliceDim):
        return (int(atom(dim, env)),)
    start, count, stride = (int(atom(a, env)) for a in (dim.start, dim.count, dim.stride))
    return (start, start + count * stride, *([stride] if dim.stride != i64(1) else []))


def stacked(rows: list[list[Value]], types: Sequence[Type], widths: tuple[int, ...],
            env: Env) -> list[Value]:
    """The columns of ``rows`` as arrays with the outer shape ``widths``."""
    for t in types:
        check_room((*widths, *_known_shape(t, env)), elem_of(t).bytes)
    if not rows:
        return [np.zeros((*widths, *_known_shape(t, env)), elem_of(t).dtype) for t in types]
    columns = zip(*rows, strict=True)
    arrays = [np.array(column, elem_of(t).dtype) for column, t in zip(columns, types, strict=True)]
    return [a.reshape((*widths, *a.shape[1:])) for a in arrays]


def _known_shape(type_: Type, env: Env) -> tuple[int, ...]:
    """The shape of elements that do not exist; sizes known only inside count as 0.

    A size below 0, with which an element would have failed, counts as 0, too.
    """
    return tuple(max(0, int(s.value) if isinstance(s, Const) else int(env.get(s, 0)))
                 for s in shape_of(type_))


def scattered(dests: tuple[ir.Dest, ...], mapped: list[Value], env: Env) -> list[Value]:
    """The destinations after the writes of all points."""
    results: list[Value] = []
    for dest in dests:
        new = env[dest.array].copy()
        indices, values = mapped[: dest.rank], mapped[dest.rank]
        mapped = mapped[dest.rank + 1 :]
        inside = np.ones(len(values), bool)
        for index, size in zip(indices, new.shape, strict=False):
            inside &= (index >= 0) & (index < size)
        new[tuple(index[inside] for index in indices)] = values[inside]
        results.append(new)
    return results


def dest_types(dests: tuple[ir.Dest, ...], env: Env) -> tuple[Type, ...]:
    """The types of the indices and values that a point writes to destinations."""
    types: list[Type] = []
    for dest in dests:
        shape = env[dest.array].shape
        elem = next(p for p in Prim if p.dtype == env[dest.array].dtype)
        whole: Type = ArrayType(elem, tuple(Const(n, Prim.I64) for n in shape))
        types += [*([Prim.I64] * dest.rank), row_of(whole, dest.rank)]
    return tuple(types)


def flat_points(value: Value, rank: int) -> Value:
    """An array whose first ``rank`` dimensions are one."""
    return value.reshape((int(np.prod(value.shape[:rank])), *value.shape[rank:]))
