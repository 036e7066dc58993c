"""Arrays of other libraries: DLPack both ways, PyOpenCL's arrays, NumPy's protocols."""

from __future__ import annotations

import copy
import gc
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array
import pytest

import runelift
from runelift.runtime.execution.device_array import DeviceArray
from runelift.runtime.programs.program import Program

XS = np.arange(1000, dtype=np.float32)


@pytest.fixture(scope="module")
def program() -> Program:
    return runelift.compile("entry more [n] (xs: [n]f32): [n]f32 = map (+ 1) xs",
                            device="Portable")


class Library:
    """An array of a library that is known by DLPack only, as PyTorch's are on a processor."""

    def __init__(self, array: Any, device: tuple[int, int] = (1, 0)) -> None:
        self._array, self._device = array, device
        self.requires_grad = False

    def __dlpack__(self, **options: Any) -> Any:
        if self._device != (1, 0):
            raise BufferError("not on this device")
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def get(self) -> Any:
        """The elements on the host, as CuPy has it."""
        return self._array


def address(array: Any) -> int:
    return int(array.ctypes.data)


def test_a_thousand_round_trips_neither_copy_nor_leak(program: Program) -> None:
    array = program.more(XS, device_arrays=True)
    first = np.from_dlpack(array)
    pool = program.device.pool
    gc.collect()
    before = pool.live, pool.allocated
    for _ in range(1000):
        view = np.from_dlpack(array)
        assert address(view) == address(first)
        array = runelift.from_dlpack(view, device="Portable", copy=False)
    assert program.more(array).tolist() == (XS + 2).tolist()
    assert (pool.live, pool.allocated) == before
    del array, first, view
    gc.collect()
    assert pool.live < before[0]


def test_memory_is_shared_while_a_view_lives(program: Program) -> None:
    array = program.to_device(XS)
    view = np.from_dlpack(array)
    place = address(view)
    view[0] = 50
    assert array.get()[0] == 50
    del array
    others = [program.to_device(XS) for _ in range(8)]  # none takes the memory of the view
    assert view[0] == 50
    assert place not in {address(np.from_dlpack(each)) for each in others}


def test_memory_of_others_is_used_in_place(program: Program) -> None:
    for offset in (0, 1, 3):  # it needs no more than the alignment of an element
        mine = np.zeros(64, np.float32)[offset:offset + 10]
        mine[:] = 1
        there = runelift.from_dlpack(Library(mine), device="Portable")
        mine[0] = 10
        assert program.more(there).tolist() == [11, *[2] * 9]
        result = program.more(there, device_arrays=True)
        del there
        assert result.get().tolist() == [11, *[2] * 9]


@pytest.mark.parametrize("array", [
    XS.reshape(10, 100).T, XS[::2], np.zeros((0,), np.float32),
    np.broadcast_to(np.float32(1), (4,))], ids=["transposed", "strided", "empty", "read-only"])
def test_what_cannot_be_shared_is_copied(array: Any) -> None:
    taken = runelift.from_dlpack(array, device="Portable")
    assert np.array_equal(taken.get(), array)
    with pytest.raises(BufferError, match="Without a copy"):
        runelift.from_dlpack(array, device="Portable", copy=False)


def test_arguments_may_be_of_other_libraries(program: Program) -> None:
    assert program.more(Library(XS)).tolist() == (XS + 1).tolist()
    assert program.more(Library(XS, (2, 0))).tolist() == (XS + 1).tolist()
    assert program.to_device(Library(XS)).get().tolist() == XS.tolist()
    interpreted = runelift.compile(program.compiled.source, device="interpreter")
    assert interpreted.more(Library(XS[:3])).tolist() == [1, 2, 3]
    with pytest.raises(runelift.ArgumentError, match="no arrays of type complex128"):
        program.to_device(np.ones(3, complex))


def test_arrays_of_pyopencl_stay_where_they_are(program: Program) -> None:
    device = program.device
    theirs = cl.array.to_device(device.plain, XS)
    assert program.more(theirs).tolist() == (XS + 1).tolist()
    assert program.more(theirs[100:]).tolist() == (XS[100:] + 1).tolist()
    other = cl.CommandQueue(cl.Context([device.info.handle]))
    assert program.more(cl.array.to_device(other, XS)).tolist() == (XS + 1).tolist()
    mine = program.more(XS, device_arrays=True)
    given = mine.to_pyopencl()
    gc.collect()
    live = device.pool.live
    given += 1
    assert mine.get()[0] == 2
    del mine
    gc.collect()
    assert device.pool.live == live  # it has left the pool
    assert given.get().tolist() == (XS + 2).tolist()


def test_numpy_sees_elements_or_copies(program: Program) -> None:
    array = program.to_device(XS)
    assert address(np.asarray(array)) != address(np.from_dlpack(array))
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        assert address(np.asarray(array, copy=False)) == address(np.from_dlpack(array))
        with pytest.raises(ValueError, match="copy"):
            np.asarray(array, dtype=np.float64, copy=False)
    assert not hasattr(array, "__array_interface__")
    assert (len(array), array.size, array.ndim, array.nbytes) == (1000, 1000, 1, 4000)
    for copied in (copy.copy(array), copy.deepcopy(array)):
        assert isinstance(copied, DeviceArray)
        assert np.array_equal(copied.get(), XS)
        assert address(np.from_dlpack(copied)) != address(np.from_dlpack(array))


def test_devices_that_the_host_does_not_see_are_copied(program: Program,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runelift.runtime.programs.interchange.sees_memory", lambda device: False)
    array = program.to_device(XS)
    assert np.from_dlpack(array).tolist() == XS.tolist()
    assert runelift.from_dlpack(XS, device="Portable").get().tolist() == XS.tolist()
    with pytest.raises(BufferError, match="does not see the memory"):
        array.__dlpack__(copy=False)


@pytest.mark.parametrize("view", [
    np.s_[::2], np.s_[::-1], np.s_[3:9], np.s_[9:2:-3], np.s_[1::5], np.s_[4:4]])
def test_views_of_pyopencl_are_copied(view: Any) -> None:
    program = runelift.compile("entry same [n] (xs: [n]i32) = map (\\x -> x) xs\n"
                               "entry turned [n][m] (a: [n][m]i32) = transpose a")
    queue = cl.CommandQueue(program.device.context)
    elements = np.arange(12, dtype=np.int32)
    there = pyopencl.array.to_device(queue, elements)
    assert program.same(there[view]).tolist() == elements[view].tolist()
    table, rows = there.reshape(3, 4), elements.reshape(3, 4)
    for part in (np.s_[:, 1:3], np.s_[::2, ::-1], np.s_[1:, ::3]):
        assert program.turned(table[part]).tolist() == rows[part].T.tolist()
    assert program.turned(table.T).tolist() == rows.tolist()


def test_rows_share_the_memory_of_arrays_where_they_can(program: Program) -> None:
    there = program.to_device(XS)
    part = there[64:192]
    inner = part[32:64]
    assert address(np.from_dlpack(inner)) == address(np.from_dlpack(there)) + 4 * 96
    assert program.more(inner).tolist() == (XS[96:128] + 1).tolist()
    for start, end in ((1, 7), (990, 2000), (-3, None), (5, 5), (9, 2)):
        assert there[start:end].get().tolist() == XS[start:end].tolist()
    assert (there[-1], there[np.int64(3)], len(list(there[:3]))) == (999, 3, 3)
    table = program.to_device(XS.reshape(25, 40))
    assert table[3].get().tolist() == XS[120:160].tolist()
    assert (table[2:4].shape, table[-1][1]) == ((2, 40), 961)
    del there, part
    gc.collect()
    others = [program.to_device(np.zeros_like(XS)) for _ in range(3)]
    assert inner.get().tolist() == XS[96:128].tolist(), [each.shape for each in others]
    queue = cl.CommandQueue(program.device.context)
    assert inner.to_pyopencl(queue).get().tolist() == XS[96:128].tolist()


@pytest.mark.parametrize("key", [np.s_[::2], np.s_[::-1], np.s_[1, 2], None, ..., "a", True])
def test_other_parts_are_refused(program: Program, key: Any) -> None:
    with pytest.raises(runelift.ArgumentError, match="follow each other"):
        program.to_device(XS)[key]
    with pytest.raises(IndexError):
        program.to_device(XS)[1000]


def test_tensors_that_ask_for_gradients_are_refused(program: Program) -> None:
    tensor = Library(XS)
    tensor.requires_grad = True
    for call in (program.more, program.to_device):
        with pytest.raises(runelift.ArgumentError, match=r"\.torch\(\)"):
            call(tensor)
