"""Commands in copies of a process that has imported the compiler, which saves most of their start.

For tests of what commands say.  Tests of the start itself run ``python -m runelift``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

IMPORTED = ("numpy", "runelift.runtime.tools.commands.cli", "runelift.runtime.data.text",
            "runelift.runtime.compilation.pipeline", "runelift.runtime.compilation.entry_points")
"""What most commands import, but for bindings of devices, which tests may take away."""


class WarmCommands:
    """A process with an environment; each command is a copy of it, with a process of its own."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self._files = {name: folder / name for name in ("input", "output", "errors")}
        self._process = subprocess.Popen([sys.executable, "-P", __file__], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         env=dict(environment))

    def run(self, *arguments: object, given: str = "", **environment: str
            ) -> subprocess.CompletedProcess[str]:
        """Run ``python -m runelift`` with these arguments, and changes to the environment."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._files["input"].write_text(given)
        command = [str(each) for each in arguments]
        request = {"command": command, "environment": environment,
                   "files": [str(each) for each in self._files.values()]}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        status = int(self._process.stdout.readline())
        return subprocess.CompletedProcess(command, status, self._files["output"].read_text(),
                                           self._files["errors"].read_text())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        assert self._process.returncode == 0


def serve() -> int:
    """Run the commands that standard input asks for, one at a time; the exit status."""
    for name in IMPORTED:
        import_module(name)
    while request := sys.stdin.buffer.readline():
        copy = os.fork()
        if copy == 0:
            return _command(**json.loads(request))
        print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), flush=True)
    return 0


def _command(command: list[str], environment: dict[str, str], files: list[str]) -> int:
    """Run a command in this process; its exit status."""
    os.environ.update(environment)
    for number, file in enumerate(files):
        opened = os.open(file, os.O_RDONLY if number == 0
                         else os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv[1:] = command
    status: int = import_module("runelift.runtime.tools.commands.start").main()
    return status


if __name__ == "__main__":
    sys.exit(serve())
