"""``runelift dump``: a program at a stage of its way."""

from __future__ import annotations

import argparse

from runelift.frontend.load import read_source
from runelift.runtime.commands.options import add_program
from runelift.runtime.compiler import compile_source
from runelift.runtime.program import Program
from runelift.runtime.tuner.forest import forest_of

STAGES = ("core", "optimised", "versioned", "kernels", "host", "tree")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_program(parser)
    parser.add_argument("--stage", choices=STAGES, default="versioned",
                        help="default: versioned")
    parser.add_argument("--policy", default="all", choices=["all", "classic", "moderate"])
    parser.add_argument("--dot", action="store_true", help="the tree in Graphviz's language")
    parser.add_argument("-e", "--entry", help="kernels and host plan of this entry point")


def run(options: argparse.Namespace) -> int:
    """Print the stage."""
    compiled = compile_source(read_source(options.file), policy=options.policy)
    if options.stage == "tree":
        forest = forest_of(compiled.versioned)
        print(forest.dot() if options.dot else forest.render())
        return 0
    kind = {"kernels": "opencl", "host": "python"}.get(options.stage, options.stage)
    print(Program(compiled, None).source(kind, options.entry))
    return 0
