"""An editor that talks to the language server, in JSON-RPC over pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

WAIT = 60.0


class Client:
    """A server in a process of its own, with what it has said."""

    def __init__(self, folder: Path | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "runelift", "lsp"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        self._number = 0
        self.diagnostics: dict[str, list[Any]] = {}
        self.edits: list[Any] = []
        self.capabilities = self.ask("initialize", {
            "processId": None, "rootUri": None if folder is None else folder.as_uri(),
            "capabilities": {"general": {"positionEncodings": ["utf-16"]},
                             "workspace": {"inlayHint": {"refreshSupport": True},
                                           "applyEdit": True}}})["capabilities"]
        self.tell("initialized", {})

    def _send(self, message: dict[str, Any]) -> None:
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
        self.process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        """The next message; requests and notifications of the server are noted."""
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline().strip()):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the server has ended"
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        method, params = message.get("method"), message.get("params")
        if method == "textDocument/publishDiagnostics":
            self.diagnostics[params["uri"]] = params["diagnostics"]
        elif method == "workspace/applyEdit":
            self.edits.append(params["edit"]["changes"])
        if method is not None and "id" in message:
            self._send({"id": message["id"], "result": {"applied": True}
                        if method == "workspace/applyEdit" else None})
        return message

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: Any) -> Any:
        """The result of a request, or its error."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while (message := self._receive()).get("id") != self._number or "method" in message:
            pass
        return message.get("result", message.get("error"))

    def about(self, method: str, uri: str, line: int, character: int, **more: Any) -> Any:
        """The result of a request about a place."""
        return self.ask(f"textDocument/{method}", {
            "textDocument": {"uri": uri}, "position": {"line": line, "character": character},
            **more})

    def open(self, uri: str, text: str) -> list[Any]:
        """Open a text; its diagnostics."""
        self.diagnostics.pop(uri, None)
        self.tell("textDocument/didOpen", {"textDocument": {
            "uri": uri, "languageId": "runelift", "version": 1, "text": text}})
        return self.wait_for_diagnostics(uri)

    def change(self, uri: str, text: str, version: int = 2) -> None:
        """Replace a text."""
        self.diagnostics.pop(uri, None)
        self.tell("textDocument/didChange", {
            "textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]})

    def wait_for_diagnostics(self, uri: str) -> list[Any]:
        """The next diagnostics of a text."""
        end = time.monotonic() + WAIT
        while uri not in self.diagnostics and time.monotonic() < end:
            self._receive()
        return self.diagnostics[uri]

    def wait_for_edit(self) -> Any:
        """The next edit that the server wants."""
        while not self.edits:
            self._receive()
        return self.edits.pop()

    def processor_seconds(self) -> float:
        """The processor time that the server has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def pause(seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def end(self) -> int:
        """Let the server end; its exit status."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        return self.process.wait(WAIT)
