"""The dumps in docs/architecture.md are what the compiler prints.

``pytest tests/test_docs.py --regenerate-golden`` writes them anew.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runelift.ir.source import Source
from runelift.runtime.compiler import compile_source
from runelift.runtime.program import Program
from runelift.runtime.tuner.strategies import STRATEGIES

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
PROGRAM = re.compile(r"```futhark\n(.*?)```", re.S)
BLOCK = re.compile(r"(<!-- stage: (\w+) -->\n```\w*\n)(.*?)(?=```)", re.S)
KERNEL = re.compile(r"^(?:--|//) intragroup.*?^}\n(?:#undef[^\n]*\n)*", re.M | re.S)


def shown(program: Program, stage: str) -> str:
    """What the page shows of a stage: of kernels, that of the work-group version."""
    if stage == "explain":
        text = "\n\n".join(d.render() for d in program.compiled.derivations)
    else:
        text = program.tree.render() if stage == "tree" else program.source(stage)
    if (kernel := KERNEL.search(text)) is not None:
        text = kernel[0]
    return text.rstrip() + "\n"


def test_dumps_are_current(pytestconfig: pytest.Config) -> None:
    page = PAGE.read_text()
    text = PROGRAM.search(page)
    assert text is not None
    program = Program(compile_source(Source("dot.fut", text[1])), None)
    current = BLOCK.sub(lambda m: m[1] + shown(program, m[2]), page)
    if pytestconfig.getoption("--regenerate-golden"):
        PAGE.write_text(current)
    assert len(BLOCK.findall(page)) == 8
    assert PAGE.read_text() == current


def test_every_example_is_listed() -> None:
    root = PAGE.parents[1]
    listed = re.findall(r"^\| `([\w-]+)` \|", (root / "docs" / "examples.md").read_text(), re.M)
    assert sorted(listed) == sorted(p.stem for p in (root / "examples").glob("*.fut"))


def test_every_strategy_is_listed() -> None:
    page = (PAGE.parent / "tuning.md").read_text()
    assert re.findall(r"^\| `([\w-]+)` \|", page, re.M) == list(STRATEGIES)
