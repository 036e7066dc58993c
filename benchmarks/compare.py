"""Time our examples on a device beside a peer's numbers.

``python benchmarks/compare.py [--device NAME] [--json OUT] [--only PART]``

For every dataset each code version is forced in turn; ``best`` is the fastest.  The program also
runs with its default thresholds.  If a choice stands in a loop, it is tuned as well, since the best
version may differ between iterations.  Times are medians of host time for a call with inputs and
outputs on the device.  The results of all versions are compared with each other.

The peer is Futhark 0.25.32's OpenCL back end, tuned, on one NVIDIA H200: ratios mean something
there only.
"""

from __future__ import annotations

import time
from statistics import geometric_mean
from typing import Any

from common import EXAMPLES, parser_of, write_json

import runelift
from runelift.ir.base.errors import RuneliftError
from runelift.ir.prim import INTS
from runelift.runtime.data.compare import first_difference
from runelift.runtime.data.dataset import Bounds, Generator, parse_spec
from runelift.runtime.records.statistics import median
from runelift.runtime.tuner.workers.measured_program import MeasuredProgram
from runelift.runtime.versions.forest import plans

VOLATILITY = ["0.03f32", "5f32", "0.2f32", "0.6f32", "0.5f32"]

# Program, entry, dataset, inputs (see `arguments`), the peer's best time in microseconds (None: not
# measured), and whether the version with one work-item per outer point takes too long to time.
Row = tuple[str, str, str, list[str], float | None, bool]
ROWS: list[Row] = [
    ("matmul", "main", "1024", ["[1024][1024]f32", "[1024][1024]f32"], 160, False),
    ("matmul", "main", "4096", ["[4096][4096]f32", "[4096][4096]f32"], 11788, True),
    ("matmul", "main", "16x1M", ["[16][1048576]f32", "[1048576][16]f32"], 927, True),
    ("matmul", "main", "262144x64", ["[262144][64]f32", "[64][16]f32"], 261, False),
    ("matmul", "main", "32x64", ["[32][64]f32", "[64][32]f32"], 20, False),
    ("mapscan", "main", "1Mx16", ["[1048576][16]i32"], 1174, False),
    ("mapscan", "main", "16x1M", ["[16][1048576]i32"], 25055, True),
    ("mapscan", "main", "4096x4096", ["[4096][4096]i32"], 22732, False),
    ("mapscan", "main", "65536x256", ["[65536][256]i32"], 7582, False),
    ("variant", "main", "256", ["[256][256]f32", "[256][256]f32"], 220, False),
    ("variant", "main", "1024", ["[1024][1024]f32", "[1024][1024]f32"], 1895, False),
    ("lud", "main", "32", ["=matrix 32i64"], 44, False),
    ("lud", "main", "128", ["=matrix 128i64"], 321, False),
    ("lud", "main", "512", ["=matrix 512i64"], 1494, False),
    ("lud", "main", "2048", ["=matrix 2048i64"], 8521, False),
    ("srad", "main", "16x16", ["100i32", "[1][16][16]u8"], 2484, False),
    ("srad", "main", "512x512", ["100i32", "[1][512][512]u8"], 2462, True),
    ("srad", "main", "1024x1024", ["100i32", "[1][1024][1024]u8"], 3052, True),
    ("nn", "main", "42764", ["100i64", "0.5f32", "0.5f32", "[42764]f32", "[42764]f32"], 4338,
     False),
    ("nn", "main", "855280", ["100i64", "0.5f32", "0.5f32", "[855280]f32", "[855280]f32"], 4303,
     False),
    ("pathfinder", "main", "100x100000", ["[1][100][100000]i32"], 493, True),
    ("pathfinder", "main", "100x1000000", ["[1][100][1000000]i32"], 1585, True),
    ("nbody", "main", "1000", ["1i32", "0.01f32", *["[1000]f32"] * 7], 60, False),
    ("nbody", "main", "100000", ["1i32", "0.01f32", *["[100000]f32"] * 7], 14348, False),
    ("mandelbrot", "main", "2048x2048",
     ["2048i64", "2048i64", "255i32", "-2f32", "-1f32", "1f32", "1f32"], None, False),
    ("hotspot", "main", "64x64", ["360i32", "[64][64]f32", "[64][64]f32"], 2020, False),
    ("hotspot", "main", "512x512", ["360i32", "[512][512]f32", "[512][512]f32"], 2450, True),
    ("hotspot", "main", "1024x1024", ["360i32", "[1024][1024]f32", "[1024][1024]f32"], 3130, True),
    ("sgemm", "main", "1024x992x1056",
     ["0.5f32", "[1024][992]f32", "[992][1056]f32", "2f32", "[1024][1056]f32"], 225, False),
    ("backprop", "main", "16384",
     ["[16384]f32", "[1]f32", *["[16385][16]f32", "[17][1]f32"] * 2], 125, False),
    ("backprop", "main", "1048576",
     ["[1048576]f32", "[1]f32", *["[1048577][16]f32", "[17][1]f32"] * 2], 660, True),
    ("nw", "main", "1024", ["10i32", "[1024][1024]i32"], 1447, False),
    ("nw", "main", "3072", ["10i32", "[3072][3072]i32"], 5296, False),
    ("mri-q", "main", "2048/262144", [*["[2048]f32"] * 5, *["[262144]f32"] * 3], 1219, False),
    ("stencil", "main", "512x512x64",
     ["100i32", "0.1666667f32", "0.0277778f32", "[64][512][512]f32"], 13360, True),
    ("tpacf", "main", "4096x100",
     ["[4096]f64", "[4096]f64", "[100][4096]f64", "[100][4096]f64"], 27814, True),
    ("LocVolCalib", "main", "small", ["16i64", "32i64", "256i64", "256i64", *VOLATILITY], 16326,
     False),
    ("LocVolCalib", "main", "medium", ["128i64", "256i64", "32i64", "64i64", *VOLATILITY], 9569,
     False),
    ("LocVolCalib", "main", "large", ["256i64", "256i64", "256i64", "64i64", *VOLATILITY], 124660,
     True),
    ("OptionPricing", "synthetic", "small", ["8388608i64", "1i64", "1i64"], 367, False),
    ("OptionPricing", "synthetic", "medium", ["1048576i64", "5i64", "3i64"], 519, False),
    ("OptionPricing", "synthetic", "large", ["131072i64", "367i64", "3i64"], 6032, False),
    ("lavaMD", "main", "3 boxes", ["3i64", "0.5f32", *["[27][100]f32"] * 5], 81, False),
    ("lavaMD", "main", "10 boxes", ["10i64", "0.5f32", *["[1000][100]f32"] * 5], 418, False),
    ("bfast", "main", "16384x414",
     ["3i64", "228i64", "12f32", "0.25f32", "1.736f32", "[16384][414]f32"], 4730, False),
    ("heston", "main", "256x2000", ["1i32", "256i64", "20i64", "128i64", "1f64", "0.02f64",
                                     *["[2000]f64"] * 3], None, True),
    ("poisson", "main", "256x256", ["1e-9f64", "1000i32", "[256][256]f64"], None, True),
    ("poisson", "main", "1024x1024", ["1e-9f64", "4000i32", "[1024][1024]f64"], None, True),
    ("kmeans", "main", "494019x34", ["5i64", "500i32", "[494019][34]f32"], 100918, True),
]


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__, "a part of PROGRAM DATASET")
    parser.add_argument("--fp-contract", action="store_true", help="as the peer does")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--budget", type=float, default=500.0, help="seconds in all")
    options = parser.parse_args()
    started = time.perf_counter()
    programs: dict[str, Any] = {}
    found: list[dict[str, Any]] = []
    for row in ROWS:
        name, entry, dataset, _, peer, _ = row
        if options.only not in f"{name} {dataset}":
            continue
        if time.perf_counter() - started > options.budget:
            print("the time budget is spent", flush=True)
            break
        if name not in programs:
            programs[name] = runelift.compile(EXAMPLES / f"{name}.fut", device=options.device,
                                              tuning={}, fp_contract=options.fp_contract)
            if len(programs) == 1:
                print(f"device: {programs[name].device_info.label}")
                print(f"{'program':24}{'default':>10}{'tuned':>10}{'best':>10}{'peer':>10}{'peer/best':>10}"
                      "  versions (us)")
        try:
            result = measure(programs[name], row, options.runs)
        except RuneliftError as error:
            result = {"error": str(error).splitlines()[0]}
        found.append({"program": name, "entry": entry, "dataset": dataset, "peer": peer,
                      **result})
        show(found[-1])
    ratios = [r["peer"] / r["best"] for r in found if r.get("best") and r["peer"]]
    if ratios:
        print(f"geometric mean of peer/best over {len(ratios)} rows: "
              f"{geometric_mean(ratios):.2f}")
    write_json(options.json, found)


def show(result: dict[str, Any]) -> None:
    """Print a row."""
    label = f"{result['program']} {result['dataset']}"
    if "error" in result:
        print(f"{label:24} {result['error'][:100]}", flush=True)
        return
    peer, best = result["peer"], result["best"]
    beside = f"{peer:>10.0f}{peer / best:>9.2f}x" if peer else " " * 20
    versions = " ".join(f"{v:.0f}" if v is not None else "-" for v in result["versions"])
    flag = "" if result["agree"] else "  RESULTS DIFFER"
    tuned = f"{result['tuned']:>10.0f}" if result["tuned"] is not None else f"{'-':>10}"
    print(f"{label:24}{result['default']:>10.0f}{tuned}{best:>10.0f}{beside}  {versions}{flag}",
          flush=True)


def measure(program: Any, row: Row, runs: int) -> dict[str, Any]:
    """Microseconds of the default and of every version, and whether their results agree."""
    _, entry, _, specs, _, skip_outer = row
    args = arguments(program, specs)
    resident = MeasuredProgram(program).place(args)
    assignments = plans(program.tree.entry(entry))
    versions: list[float | None] = []
    reference: list[Any] = []
    agree = True
    for number, force in enumerate([*assignments, None]):
        if skip_outer and number == 0 and len(assignments) > 1:
            versions.append(None)
            continue
        results, _ = program.run(entry, resident, force=force)
        reference = reference or results
        agree &= first_difference(reference, results) is None
        versions.append(timed(program, entry, resident, force, runs))
    *forced, default = versions
    assert default is not None
    tuned = None
    if not skip_outer and any(s.loops for s in program.tree.entry(entry).sites().values()):
        program.tune({"dataset": args}, entry=entry)
        tuned = timed(program, entry, resident, None, runs)
        program.thresholds = {}
    best = min(v for v in [default, tuned, *forced] if v is not None)
    return {"default": default, "tuned": tuned, "best": best, "versions": forced, "agree": agree}


def arguments(program: Any, specs: list[str]) -> list[Any]:
    """Values as ``runelift dataset`` makes them, or ``=ENTRY SPEC...``: what an entry returns."""
    if specs[0].startswith("="):
        entry, *inner = specs[0][1:].split()
        return list(program.run(entry, arguments(program, inner))[0])
    generator = Generator(42, {p: Bounds(0, 100) for p in INTS})
    return list(generator.values(parse_spec(spec) for spec in specs))


def timed(program: Any, entry: str, args: list[Any], force: Any, runs: int) -> float:
    """The median of up to ``runs`` samples, fewer if they take more than two seconds."""
    MeasuredProgram(program).warm_up(entry, args, force=force)
    samples: list[float] = []
    started = time.perf_counter()
    while len(samples) < runs and (len(samples) < 2 or time.perf_counter() - started < 2):
        samples.append(MeasuredProgram(program).time(entry, args, force=force))
    return median(samples) * 1e6


if __name__ == "__main__":
    main()
