"""Versions that need more memory than is allowed do not run."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import UserError, VersionUnavailable
from runelift.runtime.devices.memory import OutOfMemory, Pool
from runelift.runtime.memory.byte_sizes import parse_bytes
from runelift.runtime.programs.program import Program
from tests.rewrite.lift.versions_of import compiled as with_versions
from tests.rewrite.lift.versions_of import merged, nothing
from tests.runtime.memory.programs import CONVOLUTIONS, DROPS, drops

XSS = np.random.default_rng(7).random((100, 1000), np.float32)
SITE = "main.versions_0"
OUTER, INTRA, FLAT = 0, 1, 2


def compiled(memory: int | str | None = None, **thresholds: int) -> Program:
    """A program whose versions need 459,168, 426,400 and 852,384 bytes for ``XSS``."""
    return runelift.compile(DROPS, device="pocl", memory=memory, tuning={
        f"main.suff_{name}": value for name, value in thresholds.items()})


def chosen(program: Program, args: Any = XSS) -> list[int]:
    """The versions that a run with a record chooses."""
    _, record = program.run("main", [args], record=True)
    assert record is not None
    return [each.chosen for each in record.encounters]


def bytes_of_versions() -> list[int]:
    found = compiled().estimate_memory("main", [XSS])
    needs = [found.need_of(SITE, index) for index in (OUTER, INTRA, FLAT)]
    return [need.bytes for need in needs if need is not None and need.bytes is not None]


def test_the_bound_precedes_thresholds() -> None:
    outer, intra, flat = bytes_of_versions()
    assert intra < outer < flat
    prefers_flat = {"outer_par_0": 1 << 40, "intra_par_1": 1 << 40}
    for bound, expected in ((None, FLAT), (flat, FLAT), (flat - 1, INTRA), (outer, INTRA),
                            (intra, INTRA)):
        program = compiled(bound, **prefers_flat)
        assert chosen(program) == [expected]
        for _ in range(4):  # the second call is captured, and those after it are submitted again
            np.testing.assert_array_equal(program.main(XSS), drops(XSS))
        assert not program.loaded.given_up
    prefers_outer = {"outer_par_0": 1, "intra_par_1": 1 << 40}
    assert chosen(compiled(outer, **prefers_outer)) == [OUTER]
    assert chosen(compiled(outer - 1, **prefers_outer)) == [INTRA]


def test_no_run_takes_more_than_the_bound() -> None:
    _, intra, _ = bytes_of_versions()
    program = compiled(intra)
    placed = program.to_device(XSS)
    pool = program.device.pool
    before = pool.live - placed.buffer.size
    for _ in range(5):
        pool.peak = pool.live
        program.main(placed)
        assert pool.peak - before <= intra
        assert pool.limit is None


def test_too_little_for_all_versions_is_an_error_that_says_how_much_is_needed() -> None:
    _, intra, _ = bytes_of_versions()
    program = compiled(intra - 1)
    said = rf"'main' needs .*\({intra:,} bytes\) of device memory"
    with pytest.raises(UserError, match=said) as told:
        program.main(XSS)
    assert "xss (416 KiB)" in str(told.value)
    program.memory = intra
    np.testing.assert_array_equal(program.main(XSS), drops(XSS))


def test_the_bound_can_change_between_calls() -> None:
    program = compiled(None, outer_par_0=1 << 40, intra_par_1=1 << 40)
    for _ in range(3):
        program.main(XSS)
    assert chosen(program) == [FLAT]
    program.memory = "430KB"
    assert program.memory == 430_000
    np.testing.assert_array_equal(program.main(XSS), drops(XSS))
    assert chosen(program) == [INTRA]
    program.memory = None
    np.testing.assert_array_equal(program.main(XSS), drops(XSS))
    assert chosen(program) == [FLAT]


def test_other_sizes_are_decided_anew() -> None:
    program = compiled("430KB", outer_par_0=1 << 40, intra_par_1=1 << 40)
    assert chosen(program) == [INTRA]
    assert chosen(program, XSS[:10]) == [FLAT]
    for shape in ((0, 3), (3, 0), (1, 1), (7, 13)):
        xss = XSS.ravel()[:shape[0] * shape[1]].reshape(shape)
        np.testing.assert_array_equal(program.main(xss), drops(xss))


def test_a_forced_version_that_is_too_large_is_refused_with_its_bytes() -> None:
    _, _, flat = bytes_of_versions()
    with pytest.raises(VersionUnavailable, match=f"needs {flat:,} bytes of device memory"):
        compiled(flat - 1).run("main", [XSS], force={SITE: FLAT})
    compiled(flat).run("main", [XSS], force={SITE: FLAT})


def test_the_bound_goes_with_the_program_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(compiled("2MiB"))).memory == 2 << 20


def test_where_memory_is_not_known_before_the_pool_refuses() -> None:
    program = runelift.compile("""
        entry main [n] (xs: [n]i32): i64 =
          let ys = filter (> 0) xs
          in i64.sum (map2 (*) (scan (+) 0 (map i64.i32 ys)) (map i64.i32 (reverse ys)))""",
        device="pocl", tuning={})
    xs = np.arange(1, 5001, dtype=np.int32)
    ys = xs.astype(np.int64)
    assert program.main(xs) == (np.cumsum(ys) * ys[::-1]).sum()
    program.memory = "50KB"
    with pytest.raises(UserError, match="within the bound on device memory"):
        program.main(xs)
    program.memory = "10MB"
    assert program.main(xs) == (np.cumsum(ys) * ys[::-1]).sum()


def test_a_version_that_found_too_little_is_known_the_next_time(
        monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a bound: the device has less than the flat version needs."""
    program = compiled(None, outer_par_0=1 << 40, intra_par_1=1 << 40)
    placed = program.to_device(XSS)
    pool, create = program.device.pool, Pool._create
    executable = program.loaded.executable("main")
    pool.trim()
    tried: list[int] = []

    def fails(self: Pool, size: int) -> Any:
        if size > 400_000:
            tried.append(size)
            raise OutOfMemory("the device is full")
        return create(self, size)

    monkeypatch.setattr(Pool, "_create", fails)
    monkeypatch.setattr(executable.device, "info", replace(executable.device.info,
                                                          global_bytes=pool.live + 420_000))
    assert executable.memory is not None
    assert not executable.memory.active
    np.testing.assert_array_equal(program.main(placed), drops(XSS))
    assert tried
    assert executable.memory.active
    tried.clear()
    for _ in range(3):
        np.testing.assert_array_equal(program.main(placed), drops(XSS))
    assert not tried


def test_a_buffer_larger_than_the_device_allows_is_known_before(
        monkeypatch: pytest.MonkeyPatch) -> None:
    program = compiled("1GB", outer_par_0=1 << 40, intra_par_1=1 << 40)
    placed = program.to_device(XSS[:, 1:])
    monkeypatch.setattr(Pool, "most_in_one", 420_000)
    pool = program.device.pool
    assert pool.rounded(XSS[:, 1:].nbytes) > 420_000
    np.testing.assert_array_equal(program.main(placed), drops(XSS[:, 1:]))
    assert not program.loaded.given_up


@pytest.mark.parametrize("text", ["", "MB", "30XB", "-3MB", "0", "1e9", "9" * 40, "3.5.1MB"])
def test_a_bound_that_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="size of memory"):
        parse_bytes(text)


def test_the_interpreter_has_no_memory_to_bound() -> None:
    with pytest.raises(UserError, match="Name a device"):
        runelift.compile(DROPS, device="interpreter", memory="1MB")


def test_entry_points_keep_within_a_bound_if_they_can() -> None:
    """The bound that a direct convolution needs is too small for one that stores its windows."""
    program = runelift.compile(CONVOLUTIONS, device="pocl", tuning={})
    args = [np.random.default_rng(2).random((64, 64), np.float32),
            np.random.default_rng(3).random((4, 9), np.float32)]
    expected = program.im2col(*args)
    program.memory = program.estimate_memory("direct", args).bytes
    np.testing.assert_allclose(program.direct(*args), expected, rtol=1e-5)
    with pytest.raises(UserError, match="The largest arrays at that time: ys"):
        program.im2col(*args)


def test_of_two_forms_of_a_convolution_a_bound_picks_the_direct_one() -> None:
    """One entry point; its versions are two texts of it, as schedules make them."""
    _, im2col, direct = CONVOLUTIONS.split("entry ")
    texts = [f"entry main{text.removeprefix(name)}" for name, text in (
        ("im2col", im2col), ("direct", direct))]
    made, names = merged(texts[0], (texts[1], nothing))
    program = with_versions(texts[0], made, names)
    args = [np.random.default_rng(2).random((61, 35), np.float32),
            np.random.default_rng(3).random((3, 9), np.float32)]
    site = program.tree.entry("main").trees[0].name
    forms = len(program.tree.entry("main").trees[0].alternatives)
    found = program.estimate_memory("main", args)
    needs = [found.need_of(site, index) for index in range(forms)]
    bytes_ = [need.bytes for need in needs if need is not None and need.bytes is not None]
    assert len(bytes_) == forms == 2
    less, more = sorted(range(2), key=lambda index: bytes_[index])
    assert bytes_[more] - bytes_[less] >= 61 * 35 * 9 * 4
    expected, _ = program.run("main", args, force={site: more})
    for bound, version in ((bytes_[more], more), (bytes_[more] - 1, less), (bytes_[less], less)):
        prefers = {guard.name: 1 << 40 if more else 1
                   for guard in program.tree.entry("main").trees[0].guards}
        program.memory = bound
        results, record = program.run("main", args, thresholds=prefers, record=True)
        assert record is not None
        assert [each.chosen for each in record.encounters if each.site == site] == [version]
        np.testing.assert_allclose(results[0], expected[0], rtol=1e-5)
