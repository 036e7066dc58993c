"""Count the rooms (packages) and modules that calls of an entry point enter.

``python -m tests.rooms [--device NAME]`` prints a row for each of the first calls.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

import runelift

PROGRAM = """
entry main [n] (xs: [n]f32): [n]f32 =
  let ys = map (\\x -> x * x) xs
  in map2 (\\i x -> x + ys[n - 1 - i]) (iota n) xs
"""
CALLS = 12
"""The number of calls until all later ones are alike, with fused launches."""


class Entered(NamedTuple):
    """The functions that a call enters in order, and the names of their modules."""

    codes: list[CodeType]
    modules: set[str]

    @property
    def rooms(self) -> set[str]:
        """The packages of the modules."""
        return {module.rpartition(".")[0] for module in self.modules}


def entered(call: Callable[[], object]) -> Entered:
    """The functions of Runelift that a call enters, in this thread."""
    found = Entered([], set())

    def note(frame: FrameType, event: str, _: Any) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("runelift."):
            found.codes.append(frame.f_code)
            found.modules.add(module)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def main() -> None:
    """Print the counts of the first calls, and the rooms of call 2."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device")
    program = runelift.compile(PROGRAM, device=parser.parse_args().device, tuning={})
    xs = np.arange(30, dtype=np.float32)
    print(f"{'call':>4} {'rooms':>6} {'modules':>8} {'functions':>10}")
    calls = [entered(lambda: program.main(xs)) for _ in range(CALLS)]
    for number, each in enumerate(calls, 1):
        print(f"{number:4} {len(each.rooms):6} {len(each.modules):8} {len(each.codes):10}")
    print("call 2 enters", ", ".join(sorted(calls[1].rooms)))


if __name__ == "__main__":
    main()
