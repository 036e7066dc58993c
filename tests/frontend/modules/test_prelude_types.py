"""The module types of the prelude: what they list, ask for and hide; types of built-in modules."""

from __future__ import annotations

import numpy as np
import pytest

import runelift
from runelift.frontend.load import checked
from runelift.ir.base.errors import ProgramError
from runelift.ir.base.source import Source

MINE = """
def mine: i32 = 1
def popc (x: i32): i32 = x + 98
def sqrt (x: f32): f32 = x + 77
def whole (x: f32): i32 = i32.f32 x
"""

HIDDEN = {
    "a member of its own":
        ("module M: numeric with t = i32 = {open i32 def mine = 2i32}", "open M", "mine", 1),
    "by way of a module type of the program":
        ("module type n = {include numeric} module M: n with t = i32 = {open i32 def mine = 2i32}",
         "open M", "mine", 1),
    "a member of an integral module":
        ("module M: numeric with t = i32 = i32", "open M", "popc 1", 99),
    "a member of a real module":
        ("module M: numeric with t = f32 = f32", "open M", "whole (sqrt 1f32)", 78),
    "in a parametric module":
        ("module P (X: numeric with t = i32) = {open X def r = popc 1} module M = P i32",
         "", "M.r", 99),
    "where the parameter includes a module type":
        ("module P (X: {include numeric with t = i32}) = {open X def r = popc 1} "
         "module M = P i32", "", "M.r", 99),
    "of the result of a parametric module":
        ("module F (X: integral): (numeric with t = X.t) = {open X def mine = 3i32} "
         "module M = F i32", "open M", "mine", 1),
}


@pytest.mark.parametrize("case", HIDDEN)
def test_they_hide_what_they_do_not_list(case: str) -> None:
    modules, opened, value, expected = HIDDEN[case]
    inside = f"{opened} def value: i32 = {value}"
    text = f"{MINE}{modules}\nmodule R = {{{inside}}}\nentry main = R.value"
    program = runelift.compile(text, device="interpreter")
    assert program.main() == expected


REJECTED = {
    "nothing but the type": ("module M: numeric = {type t = i32}", "missing-member"),
    "no integers": ("module M: integral = {open f32}", "missing-member"),
    "no floats": ("module M: real = {open i32}", "missing-member"),
    "another type": ("module M: numeric = {open i32 type t = f32}", "type-mismatch"),
    "a member of another type": (
        "module M: numeric = {open i32 def max (x: i32): i32 = x}", "type-mismatch"),
    "bits of another size": ("module M: float = {open f32 type int_t = u64}", "type-mismatch"),
    "with another type": ("module M: from_prim with t = i32 = i64", "type-mismatch"),
    "with other bits": ("module M: float with t = f32 with int_t = u64 = f32", "type-mismatch"),
    "a member more": ("module type n = {include integral val extra: t} module M: n = i32",
                      "missing-member"),
    "an argument of another type": (
        "module P (X: integral) = {def f (x: X.t) = X.clz x} "
        "module Q = P {open i32 def clz (x: i32): i64 = 3}", "type-mismatch"),
    "a member that is not listed": ("module M: numeric = i32 def x = M.popc", "unknown-name"),
    "a hidden type": ("module M: numeric = i32 def x: M.t = 1", "type-mismatch"),
    "hidden bits": ("module M: float = f32 def f: M.t = M.from_bits 3u32", "type-mismatch"),
    "a hidden result": ("module P (X: integral): numeric = X module Q = P i16 "
                        "def y: i16 = Q.max 1 2", "type-mismatch"),
    "a hidden type of an inner module": (
        "module type a = {module m: integral val x: m.t} "
        "module M: a = {module m = i32 def x = 3i32} def z = i32.popc M.x", "type-mismatch"),
    "no module type": ("module M: size = i32", "unknown-module-type"),
    "operators of truth values": ("def f (x: bool) = x bool.&& x", "unknown-name"),
    "what only the compiler names": ("def f (x: f32) = f32.div_sqrt x x", "unknown-name"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_they_ask_for_what_they_list(case: str) -> None:
    text, code = REJECTED[case]
    with pytest.raises(ProgramError) as caught:
        checked(Source("p.fut", text))
    error = caught.value.diagnostics[0]
    assert (error.code, error.span.source.name) == (code, "p.fut")


def test_floats_have_a_type_for_their_bits() -> None:
    program = runelift.compile("""
type wide = f64.int_t
module O = { open f32 def make (bits: int_t): f32 = from_bits bits }
module P (X: float) = { type bits = X.int_t def f (x: X.t): bits = X.to_bits x }
module Q = P f32
module type single = float with t = f32 with int_t = u32
module R (X: single) = { def f (x: X.t): X.int_t = X.to_bits x | 1u32 }
module S (X: {type t type int_t val to_bits: t -> int_t}) = { def f (x: X.t) = X.to_bits x }
module T = R f32
module U = S f64
entry main (x: f32): (u32, u32, wide, f32) =
  (Q.f x, T.f x, U.f (f64.f32 x), O.make (O.to_bits x))
""", device="interpreter")
    one, odd, wide, same = program.main(np.float32(2.5))
    assert one == np.float32(2.5).view(np.uint32)
    assert odd == one | 1
    assert wide == np.float64(2.5).view(np.uint64)
    assert same == 2.5


def test_the_member_that_shifts_to_the_right_extends_the_sign() -> None:
    program = runelift.compile("""
module P (X: integral) = { def f (x: X.t) (y: X.t) = x X.>> y }
module Q = P u8
module R = { open u8 def f (x: u8): u8 = x >> 1 }
entry main (x: u8): (u8, u8, u8, u8, u8) = (Q.f x 1, R.f x, x u8.>> 1, x >> 1, x u8.>>> 1)
""", device="interpreter")
    assert program.main(np.uint8(0x90)) == (0xC8, 0xC8, 0xC8, 0x48, 0x48)
    assert program.main(np.uint8(7)) == (3,) * 5
