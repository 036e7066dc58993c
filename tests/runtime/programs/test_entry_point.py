"""Entry points in Python: signatures, documentation, keywords, errors, copies and pickles."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
import pydoc
import re
import sys
import time
import traceback
import warnings
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.brevity import MOST_LINES
from runelift.ir.base.errors import HiddenEntryWarning
from runelift.runtime.execution import kernels
from runelift.runtime.programs import first_call
from runelift.runtime.programs.program import Program

TEXT = """\
type pair = {x: f32, y: f32}

-- | Weighted sums of rows.
-- The weights are of any size.
-- ==
-- input { 1 } output { 2 }
entry sums [n][m] (xss: [n][m]f32) (w: f32) : [n]f32 =
  map (\\xs -> w * reduce (+) 0 xs) xss

entry main [n] (k: i64) (p: pair) ((a, b): (i32, [n]i32)) (lambda: bool) (x': []f32) ys =
  (k, p, a + ys, map (+ a) b, lambda, length x')

entry at [n] (xs: [n]i32) (i: i64) : i32 =
  xs[i]

-- | Not of the entry point that follows the constant.
def one = 1i32

entry tree [n] (xs: [n]i32) = map (+ one) xs

entry make (x: f32): pair = {x, y = 2 * x}

entry scaled (k: f32) (p: pair) : f32 = k * p.y
"""
XSS = np.arange(6, dtype=np.float32).reshape(2, 3)
XS = np.arange(4, dtype=np.int32)


@pytest.fixture(scope="module", params=["interpreter", "Portable"])
def program(request: pytest.FixtureRequest) -> Program:
    with pytest.warns(HiddenEntryWarning):
        return runelift.compile(TEXT, device=request.param)


def test_the_signature_is_that_of_the_source(program: Program) -> None:
    assert str(inspect.signature(program.sums)) == (
        "(xss: [n][m]f32, w: f32, *, n: i64 = None, m: i64 = None, device_arrays: bool = False, "
        "convert: bool = False, out: array | tuple = None) -> [n]f32")
    assert list(inspect.signature(program.main).parameters) == [
        "k", "p", "arg3", "lambda_", "x_", "ys", "n", "device_arrays", "convert", "out"]
    assert repr(program.at) == "<at [n] (xs: [n]i32) (i: i64): i32>"
    assert {"sums", "main", "at"} <= set(dir(program))
    assert "tree" in dir(program)  # which is an attribute of all programs
    assert repr(program).splitlines()[1] == (
        "  entry sums [n] [m] (xss: [n][m]f32) (w: f32): [n]f32")


def test_help_has_the_comment_without_test_blocks(program: Program) -> None:
    shown = io.StringIO()
    with redirect_stdout(shown):
        pydoc.Helper(output=shown)(program.sums)
    said = shown.getvalue()
    assert "Weighted sums of rows.\n    The weights are of any size.\n    \n    entry" in said
    assert "xss            array of float32, 2-d" in said
    assert "sums(xss: [n][m]f32, w: f32" in said
    assert program["tree"].declared.doc == ""


def test_keywords_are_names_of_the_source(program: Program) -> None:
    assert program.sums(w=2.0, xss=XSS, m=3).tolist() == [6.0, 24.0]
    assert program.sums(XSS, w=2.0, n=np.int64(2)).tolist() == [6.0, 24.0]
    assert program.scaled(p=program.make(x=3.0), k=2.0) == 12.0
    with pytest.raises(runelift.ArgumentError, match="'p' should be pair, which programs give"):
        program.scaled(p=1.0, k=2.0)
    with pytest.raises(runelift.ArgumentError, match=r"takes 2 arguments \(k: f32, p: pair\)"):
        program.scaled(2.0)


@pytest.mark.parametrize(("args", "named", "said", "hint"), [
    ((XSS,), {"w": 1.0, "n": 3}, "Size 'n' of 'sums' is 2 by the arguments, not 3.", ""),
    ((XSS,), {"weight": 1.0}, "has no parameter 'weight'", "it has xss, w, n, m, device_arrays"),
    ((XSS,), {"ww": 1.0}, "has no parameter 'ww'", "did you mean w?"),
    ((XSS,), {"n": 2}, "also needs w", "its type is sums"),
    ((XSS, 1.0), {"xss": XSS}, "'xss' is given twice", ""),
    ((XSS.astype(float), 1.0), {}, "has type [2][3]f64", "pass `xss.astype(np.float32)`"),
    (([[1.0]], 1.0), {}, "has type [1][1]f64", "pass `np.array(xss, np.float32)`"),
    (([[1.0], [1.0, 2.0]], 1.0), {}, "is no regular array", ""),
    ((XSS[0], 1.0), {}, "has type [3]f32", "it has 1 dimension, and 2 are needed"),
    ((XSS, True), {}, "should be f32, but has type bool", "pass `np.float32(w)`"),
    ((XSS, "one"), {}, "should be f32", ""),
    ((XSS,), {}, "takes 2 arguments (xss: [n][m]f32, w: f32), but 1 is given", ""),
])
def test_wrong_arguments_come_with_their_cure(program: Program, args: Any, named: Any, said: str,
                                              hint: str) -> None:
    with pytest.raises(runelift.ArgumentError) as caught:
        program.sums(*args, **named)
    assert said in str(caught.value)
    assert hint in caught.value.hint
    assert isinstance(caught.value, TypeError)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert len(frames) == 2  # this one, and the one that raises
    assert len(str(caught.value).splitlines()) <= MOST_LINES


def test_characters_are_passed_as_bytes_are() -> None:
    words = runelift.fn("entry words [n] (text: [n]u8): i64 = n", device="interpreter")
    for text, cure in (("äb", "np.frombuffer(text.encode(), np.uint8)"),
                       (b"ab", "np.frombuffer(text, np.uint8)")):
        with pytest.raises(runelift.ArgumentError, match="should be") as caught:
            words(text)
        assert caught.value.hint == f"pass `{cure}`"
        assert words(eval(cure)) == len(text) + isinstance(text, str)


@pytest.mark.parametrize("device", ["pocl", "interpreter"])
def test_a_size_without_a_name_is_that_of_another_argument(device: str) -> None:
    pairs = runelift.compile("entry pairs (a: []i64) (b: []i64) = zip a b", device=device)
    with pytest.raises(runelift.UserError, match=r"'b' has shape \[2\].* another argument"):
        pairs.pairs(np.zeros(1, np.int64), np.zeros(2, np.int64))


def test_a_program_without_entry_points_says_so() -> None:
    with pytest.raises(AttributeError, match="no entry point 'f'; it has none"):
        runelift.compile("def f = 1i32", device="interpreter").f()


def test_frames_can_be_kept(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNELIFT_TRACEBACK", "1")
    with pytest.raises(runelift.ArgumentError) as caught:
        program.sums(XSS[0], 1.0)
    assert traceback.extract_tb(caught.value.__traceback__)[-1].name == "check_argument"


def test_integers_that_do_not_fit(program: Program) -> None:
    with pytest.raises(runelift.ArgumentError) as caught:
        program.at(XS, 1 << 63)
    assert caught.value.hint.startswith("it is not between -9223372036854775808 and")


def test_failures_show_the_line_of_the_text(program: Program) -> None:
    with pytest.raises(runelift.ProgramFailure) as caught:
        program.at(XS, 4)
    error = caught.value
    assert (error.code, error.span and error.span.line) == ("index-out-of-bounds", 14)
    assert "  14 |   xs[i]\n     |   ^" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)


def test_errors_of_programs_are_brief() -> None:
    wrong = "\n".join(f"entry e{n} (x: i32) = x + unknown{n}" for n in range(9))
    with pytest.raises(runelift.ProgramError) as caught:
        runelift.compile(wrong, device="interpreter")
    error = caught.value
    lines = str(error).splitlines()
    assert len(lines) <= MOST_LINES
    assert "unknown0" in lines[0]
    assert lines[-1] == "… and 8 more: see the field 'diagnostics'"
    assert (error.code, error.span and error.span.text) == ("unknown-name", "unknown0")
    assert len(pickle.loads(pickle.dumps(error)).diagnostics) == 9
    assert len(error._render_traceback_()) <= MOST_LINES
    assert error._render_traceback_()[0].endswith('runelift.compile(wrong, device="interpreter")')


def test_programs_are_pickled_and_copied_with_their_settings(program: Program) -> None:
    program.thresholds = {"sums.suff_outer_par_0": 7}
    try:
        for made in (pickle.loads(pickle.dumps(program)), copy.deepcopy(program),
                     copy.copy(program)):
            assert made.thresholds == program.thresholds
            made.thresholds["sums.suff_outer_par_0"] = 8
            assert program.thresholds == {"sums.suff_outer_par_0": 7}
            assert made.device_info == program.device_info
            assert made.sums(XSS, 1.0).tolist() == [3.0, 12.0]
        assert pickle.loads(pickle.dumps(program.at))(XS, 1) == 1
    finally:
        program.thresholds = {}


def test_records_are_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    program = runelift.compile(TEXT.replace("entry tree", "def tree"), device="Portable")
    program.recording = True
    program.sums(XSS, 1.0)
    program.sums(XSS, w=2.0)
    first, second = program.records.to_dicts()
    assert (first["run"], second["run"], first["entry"]) == (0, 1, "sums")
    assert 0 < first["busy"] <= first["wall"]
    frame = program.records.to_pandas(choices=True)
    assert list(frame["run"]) == [0, 1]
    assert set(frame["version"]) <= {leaf.label for leaf in program.tree.entry("sums").leaves()}
    assert frame["sizes"][0] == program.records[0].encounters[0].sizes
    assert pickle.loads(pickle.dumps(program.records)) == program.records
    assert repr(program.records).splitlines()[1].startswith("sums  ")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(runelift.UserError, match="to_dicts"):
        program.records.to_pandas()


def test_functions_whose_text_is_the_program() -> None:
    @runelift.fn(device="interpreter")
    def twice(xs: Any) -> Any:
        """
        -- | Doubles.
        entry twice [n] (xs: [n]i32): [n]i32 = map (* 2) xs
        """

    assert twice(XS).tolist() == [0, 2, 4, 6]
    assert twice.__doc__ is not None
    assert twice.__doc__.startswith("Doubles.")
    assert twice.__module__ == __name__
    two = "entry one (x: i32) = x + 1\nentry two (x: i32) = x + 2"
    assert runelift.fn(two, name="two", device="interpreter")(1) == 3
    with pytest.raises(runelift.UserError, match=r"choose: name=.*it has one, two"):
        runelift.fn(two, device="interpreter")
    with pytest.raises(runelift.UserError, match=r"parameters \(y\), but its program has \(xs\)"):
        @runelift.fn(device="interpreter")
        def wrong(y: Any) -> Any:
            "entry wrong (xs: []i32) = xs"
    with pytest.raises(runelift.UserError, match="doc string of 'empty' should be the program"):
        @runelift.fn
        def empty() -> None: ...


def test_programs_are_modules(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fut_module.fut").write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    runelift.import_programs()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module: Any = __import__("fut_module")
    assert module.at(XS, 2) == 2
    assert module.tree(XS).tolist() == [1, 2, 3, 4]
    assert module.program.entries == ("sums", "main", "at", "tree", "make", "scaled")
    with pytest.raises(ImportError):
        __import__("fut_module_that_is_none")


def test_arguments_are_converted_if_nothing_is_lost(program: Program) -> None:
    for given in (XSS.astype(np.float64), XSS.astype(np.int64), XSS.tolist()):
        assert program.sums(given, np.float64(2), convert=True).tolist() == [6, 24]
    assert program.at([1, 2], 1, convert=True, n=2) == 2
    doubles = np.array([[1.0, np.inf]])
    assert program.sums(doubles, 1.0, convert=True) == np.inf
    for wrong, message in ((XS.astype(np.float64), "another kind"),
                           (XS.astype(np.int64) << 40, "does not fit i32"),
                           (np.ones((2, 2), np.int64), "but has type"), (["a"], "but has type")):
        with pytest.raises(runelift.ArgumentError, match=message):
            program.at(wrong, 0, convert=True)
    with pytest.raises(runelift.ArgumentError, match=r"value 1e\+300, which does not fit f32"):
        program.sums(np.array([[1.0, 1e300]]), 1.0, convert=True)
    with pytest.raises(runelift.ArgumentError, match=r"astype\(np.int32\)"):
        program.at(XS.astype(np.int64), 0)


def test_arrays_take_results(program: Program) -> None:
    out, apart = np.zeros(2, np.float32), np.zeros((2, 2), np.float32)[:, 0]
    assert program.sums(XSS, 1.0, out=out) is out
    assert program.sums(XSS.tolist(), 2.0, out=apart, convert=True) is apart
    assert (out.tolist(), apart.tolist()) == ([3, 12], [6, 24])
    assert program["tree"](XS[:0], out=np.empty(0, np.int32)).size == 0
    number = np.zeros((), np.int32)
    assert program.at(XS, 3, out=number)[()] == 3
    read_only = np.zeros(2, np.float32)
    read_only.flags.writeable = False
    for wrong, message in ((np.zeros(3, np.float32), "has shape"), (np.zeros(2), "float64, 1-d"),
                           ((out, out), "1, not 2"), ([0, 0], "not list"), (read_only, "written")):
        with pytest.raises(runelift.ArgumentError, match=message):
            program.sums(XSS, 1.0, out=wrong)
    with pytest.raises(runelift.ArgumentError, match="No array takes"):
        program.make(1.0, out=out)
    with pytest.raises(runelift.ArgumentError, match="leave out one"):
        program.sums(XSS, 1.0, out=out, device_arrays=True)


def test_parameters_keep_the_names_of_options() -> None:
    kept = runelift.compile("entry f (out: i32) (convert: i32) = (out - convert, [out])",
                            device="interpreter").f
    assert kept(convert=1, out=3)[0] == 2
    assert "out" not in str(inspect.signature(kept)).partition("*")[2]
    with pytest.raises(runelift.ArgumentError, match="given twice"):
        kept(1, 2, out=3)


def test_a_long_first_call_shows_what_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def slow(*args: Any) -> Any:
        time.sleep(0.1)
        return build_program(*args)

    build_program = kernels.build_program
    monkeypatch.setattr(kernels, "build_program", slow)
    monkeypatch.setattr(first_call, "PATIENCE", 0.01)
    monkeypatch.setattr(first_call, "PERIOD", 0.01)
    called = runelift.compile(TEXT.replace("entry tree", "entry leaf"), device="Portable").leaf
    monkeypatch.setattr(sys, "stderr", Terminal())
    called(XS)
    shown = sys.stderr.getvalue().split("\r\033[K")
    assert re.match(r"runelift: first call of 'leaf': \d+ kernels? built, \d+ left", shown[-2])
    assert shown[-1] == ""
    monkeypatch.setattr(sys, "stderr", Terminal())
    called(XS[:2])
    assert sys.stderr.getvalue() == ""


def test_entry_points_may_have_the_names_of_types() -> None:
    program = runelift.compile("type point = {x: f32, y: f32}\n"
                               "entry point (x: f32): point = {x, y = x}\n"
                               "entry sum (p: point): f32 = p.x + p.y\n", device="interpreter")
    assert program.entries == ("point", "sum")
    assert program.sum(program.point(2)) == 4
    assert dir(program).count("point") == 1
