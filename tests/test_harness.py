"""The harness of tests: what it has PoCL build, and that it finds wrong results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyopencl as cl
import pytest

from runelift.runtime.devices.info import select
from tests import pocl_builds, programs
from tests.pocl_builds import declarations, pieces_of

HEADER = """\
// A comment
#ifndef _OPENCL_H_
#define _OPENCL_H_
#include "types.h"
#define __ovld __attribute__((overloadable))
float __ovld sin(float x);
#ifdef half_is_here  // of two \\
                        lines
half __ovld cos(half x);
half __ovld sin(half x,
                int more);
#endif
#endif //_OPENCL_H_
"""
TEXT = "entry main [n] (xs: [n]i32): i32 = i32.sum (map (* 2) xs)"


def test_declarations_are_those_that_a_program_names() -> None:
    lines = declarations(pieces_of(HEADER), "kernel void f() { sin(1.0f); }").split("\n")
    assert [" ".join(line.split()) for line in lines if line] == [
        "#define __ovld __attribute__((overloadable))", "float __ovld sin(float x);",
        "#ifdef half_is_here", "half __ovld sin(half x,", "int more);", "#endif"]


def test_kernels_are_optimised_but_in_some_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in pocl_builds.UNOPTIMISED:
        assert (Path(__file__).parent / each).is_dir()
    context = cl.Context([select("pocl").handle])
    options = list[str]()
    for wanted in (pocl_builds.optimises, False):
        monkeypatch.setattr(pocl_builds, "optimises", wanted)
        built = cl.Program(context, "kernel void f(global int *x) { *x = 1; }").build()
        options.append(built.get_build_info(context.devices[0], cl.program_build_info.OPTIONS))
    assert ["-cl-opt-disable" in each for each in options] == [False, True]


def test_every_version_is_compared() -> None:
    args = [np.arange(9, dtype=np.int32)]
    program, wanted = programs.program(TEXT), programs.expected(TEXT, "main", args)
    assert programs.agree(program, "main", args, wanted) >= 1
    with pytest.raises(AssertionError, match="main in versions"):
        programs.agree(program, "main", args, [wanted[0] + 1])
    assert program.compiled is programs.program(TEXT, "interpreter").compiled
