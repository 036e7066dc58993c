"""Words of other command lines, such as Futhark's, and what to write in their place."""

from __future__ import annotations

from collections.abc import Mapping

HABITS: Mapping[str, str] = {
    **dict.fromkeys(
        ("c", "cuda", "hip", "ispc", "multicore", "opencl", "pyopencl", "python", "wasm"),
        "'run' and 'bench' compile what they need, and 'export' writes a Python module"),
    "benchcmp": "'rerun RESULT.json' runs 'bench --json' once more, and compares",
    "dev": "'dump --stage STAGE' prints a program at a stage",
    "doc": "'literate' writes a document from comments and values",
    "eval": "'repl' computes expressions, also those of standard input",
    "help": "'run --help' shows the options of 'run', and '--help' the commands",
    "query": "'lsp' answers editors",
    "defs": "'lsp' answers editors",
    "--backend": "all programs run on OpenCL, and '--device NAME' names the device",
    "--concurrency": "'--jobs N' tests several files at a time",
    "--exclude": "the tags 'notest', 'nobench' and 'notune' leave datasets out",
    "--futhark": "there is one program for all",
    "--no-terminal": "output that is no terminal has no progress line",
    "--no-tuning": "'tune-compare FILE FILE.tuning' runs with and without the tuning in turn",
    "--pass-option": "'--force', '--param' and '--tuning' say what runs",
    "--profile": "'profile FILE' says where the time goes",
    "--skip-compilation": "what is compiled is kept for later runs",
    "--timeout": "'autotune --time-limit 5s' bounds each run",
    "--tuning": "'--output FILE' says what 'autotune' writes",
    "-C": "'test' compiles, and 'check' does not run",
    "-c": "'test' compiles, and 'test --interpreter' does not",
    "-i": "'--input FILE' is for values, and 'test --interpreter' interprets",
    "-t": "'check' finds errors without running",
}
"""For a command or option that is none here, words that name one."""
