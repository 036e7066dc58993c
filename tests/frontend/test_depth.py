"""Programs that are nested deeply: those of real life are read, others are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runelift.frontend.load import checked, load
from runelift.frontend.syntax.parse_tables import SOURCE
from runelift.ir.base import deep
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.base.source import Source
from runelift.ir.names import Names

NESTED: list[Callable[[int], str]] = [
    lambda n: " + ".join(["x"] * n),
    lambda n: "".join(f"let x{k} = x + {k}\n" for k in range(n)) + "in x0",
    lambda n: "f (" * n + "x" + ")" * n,
    lambda n: "- " * n + "x",
    lambda n: "(" * n + "x" + ", 1).0" * n,
]


def program(body: str) -> Source:
    return Source("t", f"def f (x: i32): i32 = x + 1\nentry main (x: i32): i32 = {body}")


@pytest.mark.parametrize("nested", NESTED)
def test_read(nested: Callable[[int], str]) -> None:
    load(program(nested(300)), Names())


def test_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep, "DEEP_FRAMES", deep.PYTHON_FRAMES + 1)
    with pytest.raises(CompilerLimitation, match="nested too deeply"):
        load(program("- " * 5000 + "x"), Names())


@pytest.mark.parametrize("nested", NESTED)
def test_read_in_a_large_stack(nested: Callable[[int], str]) -> None:
    checked(program(nested(1500)))


def test_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit the first stack is not parsed again for the second one."""
    grammar, texts = SOURCE.grammar(), list[str]()
    parse = grammar.parse

    def counted(text: str, **options: Any) -> Any:
        texts.append(text)
        return parse(text, **options)
    monkeypatch.setattr(grammar, "parse", counted)
    source = program("".join(f"let x{k} = x + {k}\n" for k in range(6000)) + "in x0")
    checked(source)
    assert texts.count(source.text) == 1
