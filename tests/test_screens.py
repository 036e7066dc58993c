"""Pages on screens: what the check of screens finds, and that our pages are free of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.screens import MISSING, PROGRAM, screens

pytestmark = pytest.mark.skipif(PROGRAM is None, reason=MISSING)

FAULTS = """<!doctype html><html lang="en"><head><meta charset="utf-8"><style>
@media (prefers-color-scheme: dark) { body { background: #111; color: #222; } } </style></head>
<body><div style="width: 100px; overflow: hidden"><table><tr>
<td style="white-space: nowrap">a cell that does not fit at all</td></tr></table></div>
<div style="width: 60px; white-space: nowrap">leaves its box by far</div>
<div style="height: 4px">one<br>two</div><div>three</div>
<svg width="100" height="30"><text x="2" y="20">abc</text><text x="12" y="22">def</text></svg>
<div style="width: 1500px">wide</div><img src="http://localhost:1/x.png">
<script>console.error("logged"); nothing()</script></body></html>"""


def test_planted_faults_are_found(tmp_path: Path) -> None:
    page = tmp_path / "faults.html"
    page.write_text(FAULTS)
    found = {(each.scheme, each.kind): each.what for each in screens(page, widths=(480,))}
    assert {kind for scheme, kind in found if scheme == "light"} == {
        "network", "console", "error", "page wider than the window", "cut text", "cut",
        "text leaves its box", "texts overlap"}
    assert "wide" in found["light", "page wider than the window"]
    assert ("dark", "faint text") in found
