"""``explain`` names the rules of derivatives, and ``explain memory`` names tapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from runelift.runtime.tools.commands.cli import main

TEXT = """\
def f [n] (k: i64) (xs: [n]f64) =
  let acc = loop ys = xs for i < k do map2 (\\y x -> f64.sin (y * x)) ys xs
  in acc
entry main [n] (k: i64) (xs: [n]f64) = vjp (f k) xs (jvp (f k) xs xs)
"""


def test_derivations_and_tapes_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]
                                         ) -> None:
    path = tmp_path / "a.fut"
    path.write_text(TEXT)
    assert main(["explain", str(path)]) == 0
    first, second, blank, *_ = capsys.readouterr().out.splitlines()
    assert first == ("jvp → y, y_tan: derived by forward_loop, forward_map, forward_operation  "
                     "[4:54]")
    assert second.startswith("vjp → y, x_adj: derived by reverse_loop, reverse_map, ")
    assert (second[-6:], blank) == ("[4:40]", "")
    assert main(["explain", "memory", str(path)]) == 0
    assert "tape of acc 8*n*max(0, k)" in capsys.readouterr().out
