"""The extension for VS Code, run by Node.js with an editor and a client library that pretend."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

EXTENSION = Path(__file__).parents[4] / "docs" / "editors" / "vscode" / "extension.js"
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
SCRIPT = """
const Module = require("module"), load = Module._load, seen = {warnings: []};
const vscode = {
  window: {showWarningMessage: text => seen.warnings.push(text),
           showErrorMessage: text => seen.warnings.push(text)},
  workspace: {getConfiguration: () => ({get: () => ["python", "-m", "runelift", "lsp"]})}};
class LanguageClient {
  constructor(...given) { seen.given = given; }
  start() { seen.started = true; return Promise.resolve(); }
  stop() { seen.stopped = true; }
}
Module._load = (name, ...rest) => {
  if (name === "vscode") return vscode;
  if (name === "vscode-languageclient/node") {
    if (process.argv[2] === "without") throw new Error("not found");
    return {LanguageClient};
  }
  return load(name, ...rest);
};
const extension = require(process.argv[1]), context = {extensionPath: "HERE", subscriptions: []};
extension.activate(context);
extension.deactivate();
console.log(JSON.stringify(seen));
"""


def run(*arguments: str) -> dict[str, Any]:
    """The calls that the extension makes."""
    assert NODE is not None
    done = subprocess.run([NODE, "-e", SCRIPT, str(EXTENSION), *arguments], capture_output=True,
                          text=True, check=True, timeout=60)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_server_is_started_as_the_setting_says() -> None:
    seen = run()
    assert seen["given"][2:] == [{"command": "python", "args": ["-m", "runelift", "lsp"]},
                                 {"documentSelector": [{"language": "runelift"}]}]
    assert seen["started"]
    assert seen["stopped"]
    assert seen["warnings"] == []


def test_without_the_client_library_it_says_what_to_do() -> None:
    (warning,) = run("without")["warnings"]
    assert "npm install' in HERE" in warning
