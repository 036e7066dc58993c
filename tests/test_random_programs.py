"""Random well-typed programs: the interpreter and every version on the device agree.

A program is made from a seed: nested maps with reductions, scans, histograms, scatters, filters,
loops, branches, updates in place and layouts, with operators over scalars, tuples, records, arrays
and hidden types of modules, and matches on sum types.  Numbers are integers, or floats (f16, too)
that are small multiples of a half, so that results are equal to the last bit.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import pytest

import runelift
from runelift.ir.interpret import interpret
from runelift.ir.parse import parse
from runelift.ir.pretty import pretty
from runelift.runtime.devices.info import DeviceKind, find_devices
from runelift.runtime.execution import command_buffer
from runelift.runtime.program import Program
from runelift.runtime.versions.forest import Forest, plans
from tests.replays import results_agree

PROGRAMS = int(os.environ.get("RUNELIFT_RANDOM_PROGRAMS", "160"))
CHUNK = 25
MIXES = 3
"""How many random combinations of versions a program runs in, besides those that cover all."""


DECLARATIONS = """\
type shape = #none | #one i32 | #two i32 i32
def area (s: shape) = match s case #none -> 1i32 case #one x -> x case #two x y -> x - y
module type ring = { type t val zero: t val of: i32 -> t val plus: t -> t -> t val to: t -> i32 }
module plain: ring = {
  type t = i32
  def zero = 0i32
  def of (x: i32) = x
  def plus (x: t) (y: t) = x + y
  def to (x: t) = x
}
module pair (R: ring): ring = {
  type t = {first: R.t, rest: (R.t, i32)}
  def zero = {first = R.zero, rest = (R.zero, 0i32)}
  def of (x: i32) = {first = R.of x, rest = (R.of (x + 1), x & 7)}
  def plus (x: t) (y: t) = {first = R.plus x.first y.first,
                            rest = (R.plus x.rest.0 y.rest.0, i32.max x.rest.1 y.rest.1)}
  def to (x: t) = R.to x.first * 3 - R.to x.rest.0 ^ x.rest.1
}
module row: ring = {
  type t = [2]i32
  def zero = [0i32, 0i32]
  def of (x: i32) = [x, x * 2]
  def plus (x: t) (y: t) = [x[0] + y[0], x[1] + y[1]]
  def to (x: t) = x[0] ^ x[1]
}
module pairs = pair plain
module rows = pair row
module deep = pair (pair plain)
"""
"""What the programs may use."""


class Writer:
    """Writes expressions of a given rank over the names in scope (name to rank)."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.count = 0

    def fresh(self, base: str) -> str:
        self.count += 1
        return f"{base}{self.count}"

    def pick(self, scope: dict[str, int], rank: int) -> str:
        """A name of a rank, or a literal."""
        names = [n for n, r in scope.items() if r == rank]
        if rank == 0 and (not names or self.random.random() < 0.3):
            number = self.random.randint(-4, 9)
            return f"({number})" if number < 0 else f"{number}"
        return self.random.choice(names)

    def scalar(self, scope: dict[str, int], depth: int) -> str:
        """An i32."""
        choices = ["atom", "op", "op"]
        if depth > 0:
            choices += ["if", "loop", "let", "while_", "converted", "match", "fields", "module"]
            if any(r == 1 for r in scope.values()):
                choices += ["reduce", "reduce", "index", "reduce_pair", "filtered", "halves",
                            "module_reduce", "shapes", "f16", "f16_reduce"]
        choice = self.random.choice(choices)
        if choice == "atom":
            return self.pick(scope, 0)
        if choice == "op":
            op = self.random.choice(["+", "-", "*", "`i32.max`", "`i32.min`", "&", "^"])
            left, right = (self.scalar(scope, depth - 1) if depth > 0 else
                           self.pick(scope, 0) for _ in range(2))
            return f"({left} {op} {right})"
        written: str = getattr(self, f"scalar_{choice}")(scope, depth - 1)
        return f"({written})"

    def scalar_if(self, scope: dict[str, int], depth: int) -> str:
        return (f"if {self.pick(scope, 0)} < {self.pick(scope, 0)} "
                f"then {self.scalar(scope, depth)} else {self.scalar(scope, depth)}")

    def scalar_loop(self, scope: dict[str, int], depth: int) -> str:
        x, i = self.fresh("x"), self.fresh("i")
        return (f"loop {x} = {self.pick(scope, 0)} for {i} < 3 do "
                f"{self.scalar({**scope, x: 0}, depth)} + {i}")

    def scalar_while_(self, scope: dict[str, int], depth: int) -> str:
        x, i = self.fresh("x"), self.fresh("i")
        body = self.scalar({**scope, x: 0, i: 0}, depth)
        return (f"(loop ({x}, {i}) = ({self.pick(scope, 0)}, 0i32) "
                f"while {i} < ({x} & 3) do ({body}, {i} + 1)).0")

    def scalar_let(self, scope: dict[str, int], depth: int) -> str:
        x = self.fresh("x")
        return (f"let {x} = {self.scalar(scope, depth)} "
                f"in {self.scalar({**scope, x: 0}, depth)}")

    def scalar_converted(self, scope: dict[str, int], depth: int) -> str:
        a, b = f"({self.scalar(scope, depth)})", f"({self.pick(scope, 0)})"
        return self.random.choice([
            f"i32.i8 (i8.i32 {a} * i8.i32 {b})", f"i32.i64 (i64.i32 {a} * 3 - i64.i32 {b})",
            f"i32.bool ({a} < {b} || {b} == 2)", f"i32.u8 (u8.i32 {a} / 3)",
            f"i32.f32 (f32.i32 ({a} & 1023) * 0.5)", f"({a} & 63) / (1 + ({b} & 3))"])

    def scalar_reduce(self, scope: dict[str, int], depth: int) -> str:
        op, unit = self.random.choice([("(+)", "0"), ("(*)", "1"), ("i32.max", "i32.lowest")])
        return f"reduce {op} {unit} {self.vector(scope, depth)}"

    def scalar_reduce_pair(self, scope: dict[str, int], depth: int) -> str:
        xs, ys = self.vector(scope, depth), self.pick(scope, 1)
        return ("let (s, t) = reduce (\\(a, b) (c, d) -> (a + c, i32.max b d)) (0, i32.lowest) "
                f"(zip {xs} {ys}) in s ^ t")

    def scalar_filtered(self, scope: dict[str, int], depth: int) -> str:
        x = self.fresh("x")
        kept = f"(filter (\\{x} -> {x} > {self.pick(scope, 0)}) {self.vector(scope, depth)})"
        return self.random.choice([f"reduce (+) 0 {kept}", f"i32.i64 (length {kept})",
                                   f"reduce i32.max 0 (scan (+) 0 {kept})"])

    def scalar_halves(self, scope: dict[str, int], depth: int) -> str:
        x = self.fresh("x")
        return (f"i32.f32 (reduce (+) 0f32 (map (\\{x} -> f32.i32 ({x} & 255) * 0.5) "
                f"{self.vector(scope, depth)}))")

    def scalar_f16(self, scope: dict[str, int], depth: int) -> str:
        a, b = (f"f16.i32 ({each})" for each in (self.scalar(scope, depth), self.pick(scope, 0)))
        return self.random.choice([
            f"i32.u16 (f16.to_bits ({a} * 0.3f16 - {b} / 7)) & 1023", f"i32.bool ({a} / 3 < {b})",
            f"i32.f16 (f16.max ({a} * {b}) (-99) + 0x1.8p-1f16) & 255",
            f"i32.f32 (f32.f16 (f16.f32 (f32.i32 ({a} |> i32.f16) / 3)) * 8) & 255"])

    def scalar_f16_reduce(self, scope: dict[str, int], depth: int) -> str:
        x = self.fresh("x")
        given = f"(map (\\{x} -> f16.i32 ({x} & 3) * 0.5) {self.vector(scope, depth)})"
        return self.random.choice([f"i32.f16 (2 * reduce (+) 0f16 {given})",
                                   f"i32.f16 (f16.maximum (scan (+) 0f16 {given}) |> f16.min 9)"])

    def scalar_index(self, scope: dict[str, int], depth: int) -> str:
        xs = self.pick(scope, 1)
        return f"if length {xs} > 0 then {xs}[length {xs} / 2] else 7"

    def shape(self, scope: dict[str, int], depth: int) -> str:
        """A value of the sum type."""
        x = self.scalar(scope, depth)
        return (f"(if {self.pick(scope, 0)} < {self.pick(scope, 0)} then #one ({x}) else "
                f"if {self.pick(scope, 0)} < 3 then #two ({x}) {self.pick(scope, 0)} else "
                "#none : shape)")

    def scalar_match(self, scope: dict[str, int], depth: int) -> str:
        x, y = self.fresh("x"), self.fresh("y")
        return (f"match {self.shape(scope, depth)} case #none -> {self.pick(scope, 0)} "
                f"case #one {x} -> {self.scalar({**scope, x: 0}, depth)} "
                f"case #two {x} {y} -> {self.scalar({**scope, x: 0, y: 0}, depth)}")

    def scalar_fields(self, scope: dict[str, int], depth: int) -> str:
        r = self.fresh("r")
        return (f"let {r} = {{a = {self.scalar(scope, depth)}, b = {{c = {self.pick(scope, 0)}}}}} "
                f"let {r} = {r} with b.c = {r}.a - {r}.b.c in {r}.a ^ {r}.b.c")

    def ring(self) -> str:
        """A module."""
        return self.random.choice(["plain", "pairs", "row", "rows", "deep"])

    def scalar_module(self, scope: dict[str, int], depth: int) -> str:
        ring = self.ring()
        return (f"{ring}.to ({ring}.plus ({ring}.of ({self.scalar(scope, depth)})) "
                f"({ring}.of {self.pick(scope, 0)}))")

    def scalar_module_reduce(self, scope: dict[str, int], depth: int) -> str:
        ring = self.ring()
        return (f"{ring}.to (reduce {ring}.plus {ring}.zero "
                f"(map {ring}.of {self.vector(scope, depth)}))")

    def scalar_shapes(self, scope: dict[str, int], depth: int) -> str:
        x = self.fresh("x")
        return (f"i32.sum (map area (map (\\{x} -> {self.shape({**scope, x: 0}, 0)}) "
                f"{self.vector(scope, depth)}))")

    def vector(self, scope: dict[str, int], depth: int) -> str:
        """An array of rank 1 whose size is m."""
        if depth <= 0:
            return self.pick(scope, 1)
        choice = self.random.choice([
            "map", "map2", "scan", "scan_segments", "scan_vectors", "loop", "while_", "if", "let",
            "reverse", "with", "scatter", "hist", "record", "name", "in_place", "rows", "shapes",
            "module_scan", "f16_hist", "f16"])
        if choice == "name":
            return self.pick(scope, 1)
        written: str = getattr(self, f"vector_{choice}")(scope, depth - 1)
        return f"({written})"

    def vector_map(self, scope: dict[str, int], depth: int) -> str:
        x = self.fresh("x")
        return (f"map (\\{x} -> {self.scalar({**scope, x: 0}, depth)}) "
                f"{self.vector(scope, depth)}")

    def vector_map2(self, scope: dict[str, int], depth: int) -> str:
        x, y = self.fresh("x"), self.fresh("y")
        body = self.scalar({**scope, x: 0, y: 0}, depth)
        return (f"map2 (\\{x} {y} -> {body}) {self.vector(scope, depth)} "
                f"{self.vector(scope, depth)}")

    def vector_scan(self, scope: dict[str, int], depth: int) -> str:
        op, unit = self.random.choice([("(+)", "0"), ("i32.min", "i32.highest")])
        return f"scan {op} {unit} {self.vector(scope, depth)}"

    def vector_scan_segments(self, scope: dict[str, int], depth: int) -> str:
        x = self.fresh("x")
        flagged = f"(map (\\{x} -> ({x} & 3 == 0, {x})) {self.vector(scope, depth)})"
        return ("map (.1) (scan (\\(f, a) (g, b) -> (f || g, if g then b else a + b)) "
                f"(false, 0) {flagged})")

    def vector_scan_vectors(self, scope: dict[str, int], depth: int) -> str:
        x = self.fresh("x")
        pairs = f"(map (\\{x} -> [{x}, {x} * 2]) {self.vector(scope, depth)})"
        return f"map (\\p -> p[0] - p[1]) (scan (map2 (+)) (replicate 2 0) {pairs})"

    def vector_loop(self, scope: dict[str, int], depth: int) -> str:
        xs, i = self.fresh("xs"), self.fresh("i")
        return (f"loop {xs} = {self.pick(scope, 1)} for {i} < 2 do "
                f"{self.vector({**scope, xs: 1, i: 0}, depth)}")

    def vector_while_(self, scope: dict[str, int], depth: int) -> str:
        xs, i = self.fresh("xs"), self.fresh("i")
        body = self.vector({**scope, xs: 1, i: 0}, depth)
        return (f"(loop ({xs}, {i}) = ({self.pick(scope, 1)}, 0i32) "
                f"while {i} < ({self.pick(scope, 0)} & 3) do ({body}, {i} + 1)).0")

    def vector_if(self, scope: dict[str, int], depth: int) -> str:
        return (f"if {self.pick(scope, 0)} < {self.pick(scope, 0)} "
                f"then {self.vector(scope, depth)} else {self.vector(scope, depth)}")

    def vector_let(self, scope: dict[str, int], depth: int) -> str:
        xs = self.fresh("xs")
        return (f"let {xs} = {self.vector(scope, depth)} "
                f"in {self.vector({**scope, xs: 1}, depth)}")

    def vector_reverse(self, scope: dict[str, int], depth: int) -> str:
        return f"reverse {self.vector(scope, depth)}"

    def vector_with(self, scope: dict[str, int], depth: int) -> str:
        xs = self.fresh("xs")
        return (f"let {xs} = copy {self.vector(scope, depth)} "
                f"in if m > 1 then {xs} with [1] = {self.scalar(scope, depth)} else {xs}")

    def vector_scatter(self, scope: dict[str, int], depth: int) -> str:
        """Every index is another, and one may be out of bounds."""
        i = self.fresh("i")
        places = f"(map (\\{i} -> ({i} + i64.i32 ({self.pick(scope, 0)} & 7)) %% (m + 1)) (iota m))"
        return f"scatter (copy {self.pick(scope, 1)}) {places} {self.vector(scope, depth)}"

    def vector_hist(self, scope: dict[str, int], depth: int) -> str:
        x = self.fresh("x")
        op, unit = self.random.choice([("(+)", "0"), ("i32.max", "i32.lowest")])
        bins = f"(map (\\{x} -> i64.i32 ({x} & 7)) {self.pick(scope, 1)})"
        return (f"reduce_by_index (copy {self.pick(scope, 1)}) {op} {unit} {bins} "
                f"{self.vector(scope, depth)}")

    def vector_f16_hist(self, scope: dict[str, int], depth: int) -> str:
        x = self.fresh("x")
        op, unit = self.random.choice([("(+)", "0"), ("f16.max", "(-f16.inf)")])
        bins = f"(map (\\{x} -> i64.i32 ({x} & 7)) {self.pick(scope, 1)})"
        return (f"map i32.f16 (reduce_by_index (replicate m 1f16) {op} {unit} {bins} "
                f"(map (\\{x} -> f16.i32 ({x} & 3)) {self.vector(scope, depth)}))")

    def vector_f16(self, scope: dict[str, int], depth: int) -> str:
        xs, i = self.fresh("xs"), self.fresh("i")
        halves = f"(map (\\x -> f16.i32 (x & 63) / 8) {self.vector(scope, depth)})"
        return (f"map (\\x -> i32.f16 (x * 8)) (loop {xs} = copy {halves} for {i} < m do "
                f"{xs} with [{i}] = {xs}[m - {i} - 1] * 0.7 + f16.i32 ({self.pick(scope, 0)}))")

    def vector_record(self, scope: dict[str, int], depth: int) -> str:
        r = self.fresh("r")
        return (f"let {r} = {{a = {self.vector(scope, depth)}, b = ({self.scalar(scope, depth)}, "
                f"{self.pick(scope, 1)})}} in map2 (\\x y -> x * y + {r}.b.0) {r}.a {r}.b.1")

    def vector_in_place(self, scope: dict[str, int], depth: int) -> str:
        xs, i = self.fresh("xs"), self.fresh("i")
        return (f"loop {xs} = copy {self.vector(scope, depth)} for {i} < m do "
                f"let {xs}[{i}] = {xs}[(i64.i32 ({self.pick(scope, 0)}) & 7) %% m] + "
                f"{xs}[m - {i} - 1] in {xs}")

    def vector_rows(self, scope: dict[str, int], depth: int) -> str:
        t = self.fresh("t")
        return (f"let {t} = replicate 2 {self.vector(scope, depth)} "
                f"let {t}[1] = {self.pick(scope, 1)} "
                f"let {t}[0] = map (* 3) {t}[1] in map2 (-) {t}[0] (rotate 1 {t}[1])")

    def vector_shapes(self, scope: dict[str, int], depth: int) -> str:
        s, x = self.fresh("s"), self.fresh("x")
        return (f"let {s} = map (\\{x} -> {self.shape({**scope, x: 0}, 0)}) "
                f"{self.vector(scope, depth)} in map2 (\\s x -> area s * x) {s} (map area {s})")

    def vector_module_scan(self, scope: dict[str, int], depth: int) -> str:
        ring = self.ring()
        return (f"map {ring}.to (scan {ring}.plus {ring}.zero "
                f"(map {ring}.of {self.vector(scope, depth)}))")

    def program(self) -> str:
        """A program over a matrix, a vector and a scalar."""
        row, x = self.fresh("row"), self.fresh("x")
        scope = {"ys": 1, "k": 0, row: 1, x: 0}
        depth = 3 if self.seed % 8 == 0 else 2
        body = self.vector(scope, depth)
        extra = self.scalar(scope, depth)
        return (f"{DECLARATIONS}"
                "entry main [n][m] (xss: [n][m]i32) (zs: [n]i32) (ys: [m]i32) (k: i32) =\n"
                f"  unzip (map2 (\\{row} {x} ->\n    ({body},\n     {extra})) xss zs)\n")


REPLAYED = 4
"""Of so many programs, one is also run with all versions at each encounter."""
Shapes: TypeAlias = Sequence[tuple[int, int]]
SMALL: Shapes = list(product((0, 1, 1, 2, 3, 5, 7), repeat=2))
LARGE: Shapes = [(0, 33), (33, 0), (1, 257), (257, 2), (33, 33), (1000, 1), (2, 100)]


def arguments(seed: int, shapes: Shapes = SMALL) -> list[Any]:
    """A matrix, a vector of its height and one of its width, and a number."""
    rng = np.random.default_rng(seed)
    n, m = shapes[rng.integers(len(shapes))]
    return [rng.integers(-9, 9, shape).astype(np.int32) for shape in ((n, m), (n,), (m,))] + [
        np.int32(rng.integers(-9, 9))]


def check_program(seed: int, device: str, shapes: Shapes = SMALL) -> None:
    """The program of a seed on a device, in every version."""
    text = Writer(seed).program()
    args = arguments(seed, shapes)
    program = runelift.compile(text, device=device)
    compiled = program.compiled
    for ir in (compiled.core, compiled.optimised, compiled.versioned):
        assert parse(pretty(ir)) == ir
    expected = interpret(compiled.core, "main", args)
    for force in forced(program.tree.entry("main"), seed):
        found, _ = program.run("main", args, force=force)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"seed {seed} versions {force}\n{text}")
    if seed % REPLAYED == 0 and program.tree.entry("main").trees:
        results_agree(program, "main", args, expected)


def forced(forest: Forest, seed: int) -> list[dict[str, int]]:
    """Every version of every site, and some more ways to mix them."""
    rng = np.random.default_rng(seed)
    mixed = [{name: int(rng.integers(len(site.alternatives)))
              for name, site in forest.sites().items()} for _ in range(MIXES)]
    return [*plans(forest), *mixed]


@pytest.mark.sweep(every=7)
@pytest.mark.parametrize("first", range(0, PROGRAMS, CHUNK))
def test_random_programs_mean_the_same_in_every_version(first: int, simulator: str) -> None:
    for seed in range(first, min(first + CHUNK, PROGRAMS)):
        check_program(seed, simulator)


@pytest.mark.skipif(not any(d.kind is DeviceKind.CPU and d.problem is None for d in find_devices()),
                    reason="no OpenCL for the processor is installed")
@pytest.mark.parametrize("seed", range(PROGRAMS, PROGRAMS + PROGRAMS // 50))
def test_random_programs_on_wider_arrays(seed: int) -> None:
    check_program(seed, next(d.name for d in find_devices() if d.kind is DeviceKind.CPU), LARGE)


@pytest.mark.parametrize("seed", range(PROGRAMS, PROGRAMS + PROGRAMS // 100))
def test_random_programs_are_repeated(seed: int, simulator: str,
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """On arguments of two sizes in turn, with launches that are fused soon."""
    monkeypatch.setattr(command_buffer, "SUBMITS_BEFORE_FUSION", 2)
    compiled = runelift.compile(Writer(seed).program(), device=simulator)
    info = compiled.device_info
    program = Program(compiled.compiled, replace(info, kind=DeviceKind.GPU, handle=info.handle))
    inputs = [arguments(seed), arguments(seed + 1)]
    expected = [interpret(compiled.compiled.core, "main", args) for args in inputs]
    for force in forced(program.tree.entry("main"), seed)[:2]:
        for which in (0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1):
            found, _ = program.run("main", inputs[which], force=force)
            for a, b in zip(found, expected[which], strict=True):
                np.testing.assert_array_equal(a, b, err_msg=f"seed {seed} versions {force}")
