"""Tunings of small programs under load: choices, what these are worth, and the time they took.

``python benchmarks/stability.py [--loads N...] [--tunings N] [--programs NAME...] [--device NAME]
[--json OUT]``

Each of five programs is tuned four times beside 0, 4 and 12 processes that compute: 60 tunings, as
``runelift autotune`` makes them.  Then these processes end, and ``runelift tune-compare`` runs the
program with the file and by default in turn.  A row is printed after each tuning, and then

- ``stable``: the part of a program's tunings, over all loads, whose versions on all datasets are
  the most frequent versions; 0.9 is asked for;
- ``loss``: the greatest loss of a file that is certain in runs in turn afterwards; 3 % is allowed;
- ``certain gains refuted``: datasets that a tuning called certainly faster, and runs in turn do
  not;
- ``longest``: the seconds of the longest tuning; 75 are allowed.

The exit status is 1 unless all is as asked for.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.measure.side_by_side import DEFAULT, TUNED, SideBySide, speedup

PROGRAMS = {
    "rows": """
-- ==
-- "short" random input { [200000][8]f32 }
-- "long" random input { [2][800000]f32 }
entry main [n][m] (xss: [n][m]f32): [n]f32 =
  map (\\xs -> reduce (+) 0 (map (\\x -> x * x) xs)) xss
""",
    "spread": """
-- ==
-- "wide" random input { [4][40000]f32 }
-- "mid" random input { [300][300]f32 }
-- "tall" random input { [30000][6]f32 }
entry main [n][m] (x: [n][m]f32): [n]f32 =
  map (\\r -> let s = f32.sum r
             in f32.sum (map (\\v -> (v - s) * (v - s)) (scan (+) 0 r))) x
""",
    "product": """
-- ==
-- "square" random input { [200][200]f32 [200][200]f32 }
-- "wide" random input { [8][2000]f32 [2000][8]f32 }
-- "tall" random input { [2000][8]f32 [8][200]f32 }
entry main [n][m][k] (a: [n][k]f32) (b: [k][m]f32): [n]f32 =
  let c = map (\\row -> map (\\col -> reduce (+) 0 (map2 (*) row col)) (transpose b)) a
  in map (\\r -> f32.maximum (map (\\v -> v * v) r)) c
""",
    "alike": """
-- ==
-- "a" random input { [64][64]f32 }
-- "b" random input { [63][65]f32 }
entry main [n][m] (a: [n][m]f32): [n]f32 = map f32.sum a
""",
    "single": """
-- ==
-- "a" random input { [2000]f32 }
-- "b" random input { [100]f32 }
entry main [n] (a: [n]f32): [n]f32 = map (\\x -> f32.sqrt x + 1) a
""",
}
BUSY = "while True: pass"
"""The program of a process that computes."""
LEAST_STABLE, MOST_LOSS, MOST_SECONDS = 0.9, 0.03, 75.0
"""The least part of equal choices, the greatest loss, and the most seconds of a tuning."""


REPEATS = 3
"""Comparisons of a file that seems to lose: a loss shows in all of them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A tuning: its seconds, versions by dataset, and speeds in runs in turn afterwards.

    ``certain`` are the datasets that it called certainly faster.
    """

    program: str
    load: int
    seconds: float
    versions: dict[str, str]
    certain: tuple[str, ...]
    speedups: dict[str, float]
    most: dict[str, float]
    """The upper limits of the speeds."""

    @property
    def loss(self) -> float:
        """The greatest loss of a dataset that is certain."""
        return max((1 - each for each in self.most.values()), default=0.0)

    @property
    def refuted(self) -> int:
        """The number of certain gains that runs in turn refute."""
        return sum(self.most.get(name, 1.0) < 1 for name in self.certain)


@contextmanager
def load(count: int) -> Iterator[None]:
    """So many processes that compute, as long as the context lasts."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for each in processes:
            each.kill()
            each.wait()


def run(arguments: Sequence[object]) -> Any:
    """The output of a command with ``--json``."""
    done = subprocess.run([sys.executable, "-m", "runelift", *map(str, arguments), "--json"],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, arguments))}: {done.stderr}")
    found = json.loads(done.stdout)
    return found.get("result", found)


def tuned(program: str, path: Path, count: int, device: Sequence[str]) -> Outcome:
    """Tune a program under load, and run it with the file afterwards."""
    output = path.with_suffix(".tuning")
    for each in path.parent.glob(f"{output.name}*"):
        each.unlink()
    with load(count):
        started = time.perf_counter()
        facts = run(["autotune", path, "-o", output, *device])
        seconds = time.perf_counter() - started
    final = [SideBySide(each["dataset"], each["entry"],
                        {name: tuple(times) for name, times in each["seconds"].items()},
                        each["versions"]) for each in facts["final"]]
    certain = tuple(each.dataset for each in final
                    if each.seconds.get(DEFAULT) and each.seconds.get(TUNED)
                    and each.seconds[DEFAULT] != each.seconds[TUNED]
                    and speedup([each])[1] > 1)
    versions = {each.dataset: " ".join(each.versions.get(TUNED, ())) for each in final}
    made = [_compared(Outcome(program, count, seconds, versions, certain, {}, {}),
                      path, output, device)]
    while made[-1].loss > MOST_LOSS and len(made) < REPEATS:
        made.append(_compared(made[0], path, output, device))
    return min(made, key=lambda each: each.loss)


def _compared(found: Outcome, path: Path, output: Path, device: Sequence[str]) -> Outcome:
    """The tuning with the speeds of its file beside the default, in turn."""
    after = run(["tune-compare", path, output, *device])["datasets"]
    return replace(found, speedups={each["dataset"]: each["speedup"] for each in after},
                   most={each["dataset"]: each["high"] for each in after})


def stable(found: Sequence[Outcome]) -> float:
    """The part of the tunings of a program that have its most frequent choice."""
    choices = Counter(tuple(sorted(each.versions.items())) for each in found)
    return choices.most_common(1)[0][1] / len(found)


def conclude(found: Sequence[Outcome]) -> bool:
    """Print what all tunings came to; true if that is as asked for."""
    by_program = {name: [each for each in found if each.program == name]
                  for name in dict.fromkeys(each.program for each in found)}
    parts = {name: stable(each) for name, each in by_program.items()}
    loss = max(each.loss for each in found)
    longest = max(each.seconds for each in found)
    print("stable: " + ", ".join(f"{name} {part:.2f}" for name, part in parts.items()))
    print(f"loss: {100 * loss:.1f} %; certain gains refuted: "
          f"{sum(each.refuted for each in found)} of {sum(len(each.certain) for each in found)}; "
          f"seconds: median {median([each.seconds for each in found]):.0f}, longest {longest:.0f}")
    return (min(parts.values()) >= LEAST_STABLE and loss <= MOST_LOSS
            and longest <= MOST_SECONDS)


def main() -> int:
    """Do what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loads", type=int, nargs="+", default=[0, 4, 12])
    parser.add_argument("--tunings", type=int, default=4)
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--device")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    device = ["--device", args.device] if args.device else []
    found = list[Outcome]()
    with tempfile.TemporaryDirectory() as folder:
        for name in args.programs:
            path = Path(folder) / f"{name}.fut"
            path.write_text(PROGRAMS[name])
            for count in args.loads:
                for _ in range(args.tunings):
                    made = tuned(name, path, count, device)
                    found.append(made)
                    speeds = ", ".join(f"{dataset} {made.versions.get(dataset, '')} {speed:.2f}"
                                       for dataset, speed in made.speedups.items())
                    print(f"{name} at load {count}: {made.seconds:.0f} s; {speeds}", flush=True)
    if args.json:
        args.json.write_text(json.dumps([asdict(each) for each in found], indent=1))
    return 0 if conclude(found) else 1


if __name__ == "__main__":
    sys.exit(main())
