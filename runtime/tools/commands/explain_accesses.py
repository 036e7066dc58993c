"""Explain the class of each reference to an array."""

from __future__ import annotations

import argparse
from pathlib import Path

from runelift.ir.analysis import patterns
from runelift.ir.base.errors import unknown_entry
from runelift.runtime.tools.commands.explained_program import compiled_source
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.styles import show


def explain(args: argparse.Namespace, path: Path) -> None:
    """Run ``runelift explain access``."""
    compiled = compiled_source(args, path)
    funs = [fun for fun in compiled.versioned.funs if args.entry in (None, fun.name)]
    if not funs:
        raise unknown_entry(args.entry, (fun.name for fun in compiled.versioned.funs))
    if args.json:
        print_json({fun.name: [
            {"kernel": each.name, "at": str(each.loc), "references": [
                {"reference": str(r), "array": r.array.base, "class": r.pattern.title}
                for r in each.references]} for each in patterns.accesses(fun)] for fun in funs})
    else:
        show("\n\n".join(f"{fun.name}\n" + patterns.render(patterns.accesses(fun))
                         for fun in funs))
