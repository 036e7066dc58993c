"""Commands that come often import few modules; modules are counted, packages are not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COUNT = """
import sys
from runelift.runtime.tools.commands import start
from runelift.runtime.host import supervisor
from runelift.runtime.tools.commands.cli import main
status = main()
loaded = [name for name, each in sys.modules.items()
          if name.startswith("runelift.") and not hasattr(each, "__path__")]
print(*loaded, file=open(sys.argv[-1] + ".loaded", "w"))
sys.exit(status)
"""
"""Runs a command in its process, and writes the modules that are there in the end."""
RUN, TUNED_RUN, QUICK = 167, 173, 300
"""So many modules are enough for a warm run, one with a tuning file, and a quick tuning.

Whoever adds one asks first whether a run needs it.
"""
NEEDLESS = ("frontend", "rewrite", "codegen.hostplan", "codegen.segops", "codegen.kernel",
            "runtime.research", "runtime.compilation.pipeline")
"""Packages that no warm command imports: nothing is compiled."""


def loaded(folder: Path, path: Path, *command: str, given: str = "") -> set[str]:
    """The modules that a command imports with a cache of its own."""
    done = subprocess.run(
        [sys.executable, "-c", COUNT, *command, str(path)], input=given, capture_output=True,
        text=True, check=False,
        env={**os.environ, "RUNELIFT_KEEP": "1", "RUNELIFT_CACHE": str(folder / "cache"),
             "RUNELIFT_DEVICE": "pocl"})
    assert done.returncode == 0, done.stderr
    return set(path.with_name(path.name + ".loaded").read_text().split())


def needless(modules: set[str]) -> list[str]:
    return sorted(each for each in modules
                  if each.removeprefix("runelift.").startswith(NEEDLESS))


@pytest.mark.parametrize(("thresholds", "most"), [("", RUN), ("main.suff_outer_par_0=1\n",
                                                              TUNED_RUN)])
def test_a_warm_run_imports_what_it_runs(tmp_path: Path, path: Path, thresholds: str, most: int
                                         ) -> None:
    if thresholds:
        path.with_name(path.name + ".tuning").write_text(thresholds)
    for _ in range(2):
        cold = loaded(tmp_path, path, "run", given="[[1f32, 2f32]]")
    warm = loaded(tmp_path, path, "run", given="[[1f32, 2f32]]")
    assert len(warm) <= most
    assert needless(warm) == []
    assert warm <= cold


def test_a_quick_tuning_needs_no_compiler_and_no_research(tmp_path: Path, path: Path) -> None:
    for _ in range(2):
        warm = loaded(tmp_path, path, "autotune", "--effort", "quick")
    assert len(warm) <= QUICK
    assert needless(warm) == []
