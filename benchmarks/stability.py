"""Tunings of small programs under load: choices, what these are worth, and the time they took.

``python benchmarks/stability.py [--loads N...] [--tunings N] [--programs NAME...] [--device NAME]
[--json OUT] [--join FILE...]``

Each of five programs is tuned four times beside 0, 4 and 12 processes that compute: 60 tunings, as
``runelift autotune`` makes them.  So many are for two cores.  Where ``taskset`` gives this
script more or fewer cores, there are more or fewer in proportion, on these cores.  PoCL gets as
many threads as there are such cores.  Then these processes end, and ``runelift tune-compare``
runs the program with the file and by default in turn.  A row is printed after each tuning, and
``OUT`` is written anew.  ``--join`` tunes nothing, but concludes over such files of several runs.
In the end:

- ``stable``: the part of a program's tunings, over all loads, whose versions on all datasets are
  the most frequent versions; 0.9 is asked for;
- ``choices``: the choices of programs that are not stable, and how often each was made;
- ``loss``: the greatest loss of a file that is certain in runs in turn afterwards; 3 % is allowed;
- ``verdicts``: datasets of all tunings, certain gains among them, and gains that runs in turn
  refute (none is allowed without load);
- ``seconds``: of the longest tuning; 75 are allowed;
- ``failed``: commands that failed; none is allowed.

The exit status is 1 unless all is as asked for.
"""

from __future__ import annotations

import argparse
import json
import os
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
CORES = 2
"""The cores that a load is for."""
THREADS = "POCL_MAX_PTHREAD_COUNT"
"""The variable that tells PoCL how many threads to have: it has one for each core of a machine."""
LEAST_STABLE, MOST_LOSS, MOST_SECONDS = 0.9, 0.03, 75.0
"""The least part of equal choices, the greatest loss, and the most seconds of a tuning."""


REPEATS = 3
"""Comparisons of a file that seems to lose: a loss shows in all of them."""


class CommandFailed(Exception):
    """A command of Runelift ended with an error."""


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


@dataclass(frozen=True, slots=True)
class Findings:
    """The tunings that were made, and the errors of commands that failed."""

    outcomes: list[Outcome]
    failed: list[str]

    def save(self, path: Path) -> None:
        """Write a file that :func:`joined` reads."""
        path.write_text(json.dumps(asdict(self), indent=1))


def joined(paths: Sequence[Path]) -> Findings:
    """The findings of several files."""
    found = [json.loads(path.read_text()) for path in paths]
    return Findings(
        [Outcome(**{**each, "certain": tuple(each["certain"])})
         for one in found for each in one["outcomes"]],
        [each for one in found for each in one["failed"]])


def usable_cores() -> int:
    """The number of cores that this process, and what it starts, may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def load(count: int) -> Iterator[None]:
    """So many processes that compute for two usable cores, as long as the context lasts."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY])
                 for _ in range(round(count * usable_cores() / CORES))]
    try:
        yield
    finally:
        for each in processes:
            each.kill()
            each.wait()


def run(arguments: Sequence[object]) -> Any:
    """The output of a command with ``--json``."""
    done = subprocess.run([sys.executable, "-m", "runelift", *map(str, arguments), "--json"],
                          capture_output=True, text=True, check=False,
                          env={THREADS: str(usable_cores()), **os.environ})
    if done.returncode:
        raise CommandFailed(f"{' '.join(map(str, arguments))}: {done.stderr}")
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


def choices(found: Sequence[Outcome]) -> Counter[tuple[tuple[str, str], ...]]:
    """The number of times that each choice of versions on all datasets was made."""
    return Counter(tuple(sorted(each.versions.items())) for each in found)


def stable(found: Sequence[Outcome]) -> float:
    """The part of the tunings of a program that have its most frequent choice."""
    return choices(found).most_common(1)[0][1] / len(found)


def shown_choices(found: Sequence[Outcome]) -> str:
    """The choices of a program, the most frequent first."""
    return "; ".join(f"{count}x " + ", ".join(f"{dataset} {versions}" for dataset, versions in made)
                     for made, count in choices(found).most_common())


def verdicts(count: int, found: Sequence[Outcome]) -> str:
    """The number of verdicts at a load, of certain gains, and of refuted gains."""
    certain = sum(len(each.certain) for each in found)
    return (f"{sum(len(each.versions) for each in found)} at load {count}, {certain} certainly "
            f"faster, {sum(each.refuted for each in found)} of these refuted")


def conclude(findings: Findings) -> bool:
    """Print what all tunings came to; true if that is as asked for."""
    found = findings.outcomes
    for error in findings.failed:
        print(f"failed: {error.strip()}")
    if not found:
        return False
    by_program, by_load = dict[str, list[Outcome]](), dict[int, list[Outcome]]()
    for each in found:
        by_program.setdefault(each.program, []).append(each)
        by_load.setdefault(each.load, []).append(each)
    parts = {name: stable(each) for name, each in by_program.items()}
    loss = max(each.loss for each in found)
    longest = max(each.seconds for each in found)
    print(f"{len(found)} tunings; stable: "
          + ", ".join(f"{name} {part:.2f}" for name, part in parts.items()))
    for name, part in parts.items():
        if part < 1:
            print(f"choices of {name}: {shown_choices(by_program[name])}")
    print(f"loss: {100 * loss:.1f} %; seconds: median "
          f"{median([each.seconds for each in found]):.0f}, longest {longest:.0f}; "
          f"failed: {len(findings.failed)}")
    print("verdicts: " + "; ".join(verdicts(*each) for each in sorted(by_load.items())))
    return (min(parts.values()) >= LEAST_STABLE and loss <= MOST_LOSS
            and longest <= MOST_SECONDS and not findings.failed
            and not any(each.refuted for each in by_load.get(0, ())))


def made(options: argparse.Namespace) -> Findings:
    """Tune what the options ask for; findings are saved after each tuning."""
    device = ["--device", options.device] if options.device else []
    found = Findings([], [])
    with tempfile.TemporaryDirectory() as folder:
        for name in options.programs:
            path = Path(folder) / f"{name}.fut"
            path.write_text(PROGRAMS[name])
            for count in [each for each in options.loads for _ in range(options.tunings)]:
                try:
                    each = tuned(name, path, count, device)
                except CommandFailed as error:
                    found.failed.append(str(error))
                    print(error, flush=True)
                else:
                    found.outcomes.append(each)
                    speeds = ", ".join(f"{dataset} {each.versions.get(dataset, '')} {speed:.2f}"
                                       for dataset, speed in each.speedups.items())
                    print(f"{name} at load {count}: {each.seconds:.0f} s; {speeds}", flush=True)
                if options.json:
                    found.save(options.json)
    return found


def main() -> int:
    """Do what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loads", type=int, nargs="+", default=[0, 4, 12])
    parser.add_argument("--tunings", type=int, default=4)
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--device")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--join", type=Path, nargs="+", default=[])
    options = parser.parse_args()
    return 0 if conclude(joined(options.join) if options.join else made(options)) else 1


if __name__ == "__main__":
    sys.exit(main())
