"""The address of the project stands in one place; without it, nothing shows one."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from email.message import Message
from pathlib import Path

import pytest

from runelift.ir.base.project_links import NAME, install, repository
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.commands.sarif_output import sarif_log

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HINT = re.compile(r"""pip install ['"]?[^`'"\n]*\[(\w+)\][^`\n]*?['"]""")


def test_the_address_is_that_of_the_project() -> None:
    assert repository() == PROJECT.get("urls", {}).get(NAME)


def test_hints_of_pages_are_those_of_messages() -> None:
    found = set[str]()
    for path in ROOT.glob("docs/*.md"):
        for hint in HINT.finditer(path.read_text()):
            assert hint[0] == install(hint[1]), path
            assert hint[1] in PROJECT["optional-dependencies"]
            found.add(hint[1])
    assert found == {"cma", "dask", "explain", "lsp", "repl"}


@pytest.mark.parametrize("address", [None, "https://example.org/r"])
def test_all_that_shows_the_address(address: str | None, monkeypatch: pytest.MonkeyPatch,
                                    capsys: pytest.CaptureFixture[str]) -> None:
    links = Message()
    links["Project-URL"] = "Documentation, https://example.org/d"
    if address is not None:
        links["Project-URL"] = f"{NAME}, {address}"
    monkeypatch.setattr(importlib.metadata, "metadata", lambda name: links)
    driver = sarif_log([])["runs"][0]["tool"]["driver"]
    assert driver.get("informationUri") == address
    assert install("lsp") == ('pip install ".[lsp]"' if address is None else
                              'pip install "runelift[lsp] @ git+https://example.org/r"')
    monkeypatch.setattr("runelift.runtime.tools.commands.rules.execute", lambda args: 1 / 0)
    assert main(["rules"]) == 3
    said = capsys.readouterr().err
    assert (f"report it at {address} with" if address else "report it with") in said


def test_without_metadata_there_is_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Message:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "metadata", missing)
    assert repository() is None
