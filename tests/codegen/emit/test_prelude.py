"""Programs have of the prelude what they need, and no more."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pytest

from runelift.codegen.emit.prelude import TYPES, linked, pieces
from runelift.ir.meaning import apply
from runelift.ir.prim import Prim
from runelift.runtime.devices.info import DeviceInfo, find_devices

DEVICES = [d for d in find_devices() if d.problem is None]
ALL = sorted({name for piece in pieces() for name in piece.defines})


def test_a_program_has_what_it_mentions_and_what_that_needs() -> None:
    text = linked("mod_i32(7, x)")
    assert text.endswith("mod_i32(7, x)")
    assert text.index(" rem_i32(") < text.index(" mod_i32(")
    assert "i64(" not in text
    assert "div_" not in text


def test_a_program_that_mentions_nothing_has_no_functions() -> None:
    assert "inline" not in linked("")
    assert "#pragma OPENCL EXTENSION cl_khr_fp64" in linked("")


def test_no_piece_is_there_twice() -> None:
    texts = [piece.text for piece in pieces()]
    assert len(texts) == len(set(texts))


def test_pieces_come_after_those_that_they_need() -> None:
    known = set[str]()
    for piece in pieces():
        known |= piece.defines
        later = piece.words.intersection(ALL) - known
        assert not later, piece.text


def test_there_is_a_function_for_each_type() -> None:
    assert {"quot_i8", "shr_u16", "ctz_u64", "i64_of_f32", "u64_of_f64", "sgn_f32"} <= set(ALL)
    assert not [name for name in ALL if "$" in name]


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.label)
def test_all_of_it_is_a_program(device: DeviceInfo) -> None:
    """Also with functions of the C library, where the device has them."""
    text = linked(f"// {' '.join(ALL)}\n__kernel void nothing() {{}}")
    assert text.count("inline ") > 150
    context = cl.Context([device.handle])
    cl.Program(context, text).build(list(device.build_options))


@pytest.mark.parametrize("prim", [Prim.I64, Prim.U64], ids=str)
@pytest.mark.parametrize("option", ["-DSHORT_QUOTIENTS", "-DLONG_QUOTIENTS"])
def test_short_operands_are_divided_like_long_ones(prim: Prim, option: str) -> None:
    device = next(d for d in DEVICES if "Portable" in d.platform)
    ops, type_ = ("quot", "rem", "div", "mod"), TYPES[prim]
    near = [1, 2, 3, 7, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, int(prim.greatest)]
    values = np.array([0, *near, *([-x for x in near] if prim is Prim.I64 else [])], prim.dtype)
    xs, ys = (a.reshape(-1).copy() for a in np.meshgrid(values, values[1:]))
    results = "".join(f"out[i * 4 + {k}] = {op}_{prim}(x[i], y[i]); " for k, op in enumerate(ops))
    text = linked(f"__kernel void divide(__global {type_} *x, __global {type_} *y, "
                  f"__global {type_} *out) {{ long i = get_global_id(0); {results}}}")
    context = cl.Context([device.handle])
    queue = cl.CommandQueue(context)
    flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
    out = np.empty((len(xs), 4), prim.dtype)
    held = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, out.nbytes)
    kernel = cl.Program(context, text).build([*device.build_options, option]).divide
    kernel(queue, (len(xs),), None, cl.Buffer(context, flags, hostbuf=xs),
           cl.Buffer(context, flags, hostbuf=ys), held)
    cl.enqueue_copy(queue, out, held)
    for k, op in enumerate(ops):
        np.testing.assert_array_equal(out[:, k], apply(op, prim, xs, ys), err_msg=op)
