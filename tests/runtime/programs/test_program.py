"""Programs as Python objects: names of entry points, values for thresholds."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import runelift
from runelift.ir.base.errors import HiddenEntryWarning, UserError

NAMES = ("run", "time", "tree", "tune", "records", "compiled", "_private")
TEXT = "\n".join(f"entry {name} (x: i32) = x + {number}" for number, name in enumerate(NAMES))
ROWS = "entry main (xss: [][]i32) = map (\\xs -> reduce (+) 0 (map (2*) xs)) xss"


def test_entry_points_with_names_of_ours_can_be_called() -> None:
    with pytest.warns(HiddenEntryWarning) as seen:
        program = runelift.compile(TEXT, device="interpreter")
    assert [program[name](np.int32(1)) for name in NAMES] == list(range(1, 1 + len(NAMES)))
    assert program.time(np.int32(1)) == 2
    (only,) = seen
    for name in set(NAMES) - {"time"}:
        assert f"program['{name}']" in str(only.message)
    assert "time" not in str(only.message)
    assert only.filename == __file__


def test_other_names_bring_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = runelift.compile(ROWS, device="interpreter")
    assert program["main"](np.ones((2, 3), np.int32)).tolist() == [6, 6]
    with pytest.raises(UserError, match="Unknown entry point 'mein'"):
        program["mein"]


def test_the_command_line_does_not_warn(capsys: pytest.CaptureFixture[str],
                                        tmp_path: Any) -> None:
    # late: the command line changes how this process collects garbage
    from runelift.runtime.tools.commands.cli import main

    (tmp_path / "names.fut").write_text(TEXT)
    (tmp_path / "one").write_text("1i32")
    assert main(["run", str(tmp_path / "names.fut"), "-e", "run", "-i", str(tmp_path / "one"),
                 "--device", "interpreter"]) == 0
    assert capsys.readouterr() == ("1i32\n", "")


@pytest.mark.parametrize("device", ["interpreter", "Portable"])
@pytest.mark.parametrize("option", ["tuning", "settings"])
@pytest.mark.parametrize(("values", "message"), [
    ({"foo": 1}, "no threshold or parameter 'foo'"),
    ({"main.suff_outer_par": 1}, "Did you mean 'main.suff_outer_par_0'"),
    ({"main.suff_outer_par_0": "many"}, "must be an integer, not 'many'"),
    ({"main.suff_outer_par_0": 1.5}, "must be an integer"),
    ({"main.suff_outer_par_0": -1}, "from 0 to"),
    ({"main.suff_outer_par_0": 1 << 63}, "from 0 to"),
])
def test_wrong_values_are_errors(values: Any, message: str, option: str, device: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        runelift.compile(ROWS, device=device, **{option: values})
    assert "ignored" not in str(error.value)


def test_right_values_are_taken() -> None:
    program = runelift.compile(ROWS, device="Portable",
                               tuning={"main.suff_outer_par_0": np.int64(7)})
    assert program.thresholds == {"main.suff_outer_par_0": 7}
