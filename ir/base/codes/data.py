"""Codes of files that are no programs."""

from __future__ import annotations

from runelift.ir.base.codes.explanation import Explanation

_PRODUCT = """\
-- file: program.fut
entry main [n][m][p] (xss: [n][m]f32) (yss: [m][p]f32): [n][p]f32 =
  map (\\xs -> map (\\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss
"""

_PROFILE = """\
{"limits": {"name": "Example", "platform": "NVIDIA CUDA", "kind": "GPU", "driver": "1.0",
            "version": "OpenCL 3.0", "units": 132, "max_group": 1024, "local_bytes": 49152,
            "global_bytes": 8589934592, "max_alloc": 2147483648, "warp": 32, "exact": true,
            "extensions": ["cl_khr_fp64"]},
 "costs": {}, "measured": {}}
"""

CODES = (
    Explanation(
        "unknown-parameter", "a value for a parameter that the program does not have",
        "Option --param sets thresholds, parameters of kernels and those of #[param].  'runelift "
        "dump --stage tree' and 'runelift explain parameters' list them.  Names depend on the text "
        "of the program.  In a tuning file such a name is ignored, with a warning.  The example "
        "has a line for each --param.",
        wrong="""\
main.suff_outer_par=4096
""" + _PRODUCT, cure="""\
main.suff_outer_par_0=4096
""" + _PRODUCT, suffix=".tuning"),
    Explanation(
        "impossible-setting", "values of parameters that do not go together",
        "The kernels of a setting must fit the device, and values must make sense beside each "
        "other.  The message shows the condition with the values of both sides, and where it comes "
        "from, and values of other parameters that go with them.  'runelift explain parameters' "
        "lists all conditions.  In a tuning file such a setting is ignored, with a warning.  The "
        "example has a line for each --param.",
        wrong="""\
main.ys_2.side=8
main.ys_2.rows=16
main.ys_2.columns=8
""" + _PRODUCT, cure="""\
main.ys_2.side=8
main.ys_2.rows=8
main.ys_2.columns=8
""" + _PRODUCT, suffix=".tuning"),
    Explanation(
        "malformed-data", "values that cannot be read",
        "Values are written as in programs: numbers with a suffix for their type, arrays in "
        "brackets with rows of the same length, empty([0]i32) for an empty array.  Files in the "
        "binary format and NumPy's .npy and .npz are read as well.  The blocks of a program that "
        "describe its tests are read by the same rules.",
        wrong="""\
[[1i32, 2i32], [3i32]]
""", cure="""\
[[1i32, 2i32], [3i32, 4i32]]
""", suffix=".in"),
    Explanation(
        "malformed-tuning", "a tuning file that cannot be read",
        "A tuning file has a line NAME=INT for each threshold; 'runelift autotune' writes it.  The "
        "file with the facts of the tuning beside it is JSON.",
        wrong="""\
main.suff_outer_par_0: 4096
""", cure="""\
main.suff_outer_par_0=4096
""", suffix=".tuning"),
    Explanation(
        "malformed-profile", "a profile of a device that cannot be read",
        "A profile describes a device that is not there: its limits as OpenCL tells them, its "
        "constants, and the times of short kernels.  Each limit is there, and none is "
        "negative.  Copy one of runtime/devices/profiles and change it.",
        wrong=_PROFILE.replace('"units": 132, ', ""), cure=_PROFILE, suffix=".json"),
    Explanation(
        "malformed-manifest", "a futhark.pkg that cannot be read",
        "The file futhark.pkg may begin with the package that its folder is.  It lists required "
        "packages, each with its least version and perhaps a hash.  'runelift pkg' writes it.",
        wrong="""\
require {
  github.com/athas/fut-foo
}
""", cure="""\
require {
  github.com/athas/fut-foo 0.1.0
}
""", suffix=".pkg"),
    Explanation(
        "malformed-log", "a tuner's log that cannot be read",
        "The log of a tuning has a JSON object in each line.  Only its last line may be cut off, "
        "if the tuner was stopped.  Delete the log to measure anew.",
        wrong="""\
measured: main
""", cure="""\
{"entry": "main", "dataset": "#0", "force": {}, "record": null, "error": "out of memory"}
""", suffix=".log"),
    Explanation(
        "malformed-results", "results of another tuner that cannot be read",
        "'runelift autotune --import-t4' reads results in the T4 format, version 1: a JSON object "
        "with a schema_version and results, each of which has a configuration, times and whether "
        "it is valid.",
        wrong="""\
{"schema_version": "1.0.0", "results": [{"configuration": {"main.suff_outer_par_0": 4096}}]}
""", cure="""\
{"schema_version": "1.0.0", "results": [{"configuration": {"main.suff_outer_par_0": 4096},
 "times": {"runtimes": [1.5, 1.6]}, "invalidity": "correct", "correctness": 1}]}
""", suffix=".t4"),
    Explanation(
        "malformed-ir", "a dump that cannot be read back",
        "What 'runelift dump' prints can be read back.  This text was changed in a way that its "
        "grammar does not know.",
        wrong="""\
entry main (x_1 : i32) : (r_2 : i32) =
  in x_1
""", cure="""\
entry main (x_1 : i32) : (r_2 : i32) =
  in (x_1)
""", suffix=".core"),
)
