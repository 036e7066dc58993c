"""Programs have of the prelude what they need, and no more."""

from __future__ import annotations

import pyopencl as cl
import pytest

from runelift.codegen.emit.prelude import linked, pieces
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


def testpieces_come_after_those_that_they_need() -> None:
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
