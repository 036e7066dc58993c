"""Explain the predicted cost of each version, also on a device that is not there."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runelift.ir.base.errors import UserError
from runelift.runtime.data.outline import arguments_of_sizes, assigned
from runelift.runtime.devices.profiles import profile, profile_names
from runelift.runtime.predictions.modelled_device import ModelledDevice, modelled
from runelift.runtime.predictions.predict import Prediction, predict_call
from runelift.runtime.programs.loaded_program import LoadedProgram
from runelift.runtime.tools.commands.explained_program import (
    compiled_source,
    inputs_of,
    planned_program,
)
from runelift.runtime.tools.commands.json_output import command_line
from runelift.runtime.tools.commands.open_program import entries_of
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.pages.document import write_page
from runelift.runtime.tools.predictions import call, curves
from runelift.runtime.tools.predictions.page import page
from runelift.runtime.versions.forest import Forest, forest_of


@dataclass(frozen=True, slots=True)
class _Explained:
    """The predicted costs of an entry point: calls, and curves if there is a size to vary."""

    calls: list[call.ExplainedCost]
    curves: list[curves.CostCurves] = field(default_factory=list)


def explain(args: argparse.Namespace, path: Path) -> None:
    """Run ``runelift explain cost``."""
    loaded, device = predicted_program(args, path)
    entries = entries_of(args, loaded.compiled.interfaces)
    if (args.sizes or args.over or args.lengths) and len(entries) > 1:
        raise UserError("--sizes, --lengths and --over are those of one --entry, of "
                        f"{', '.join(entries)}.")
    if args.over is not None and args.lengths is not None:
        raise UserError("--over varies a size, and --lengths has the number of rows: give one.")
    if args.html is not None and args.over is None:
        raise UserError("'explain cost --html' draws times over a size: --over NAME says which.")
    found = {entry: _explained(args, loaded, entry) for entry in entries}
    wrote = None if args.html is None else _write(args, path, device, found[entries[0]])
    if args.json:
        print_json({"device": device, **({} if wrote is None else {"page": str(wrote)}),
                    "entries": {entry: _facts(each) for entry, each in found.items()}})
        return
    if wrote is not None:
        show(f"Wrote {wrote}; open it in a browser.")
    show(f"Predicted for {device}")
    for each in found.values():
        show("\n\n".join(_texts(each)))
    show(f"\n{call.legend([each for entry in found.values() for each in entry.calls])}")


def predicted_program(args: argparse.Namespace, path: Path) -> tuple[LoadedProgram, str]:
    """The program on the device that is asked for, and the name of the device."""
    if args.as_device is not None:
        device = ModelledDevice(profile(args.as_device))
        return modelled(compiled_source(args, path), device), device.info.name
    program = planned_program(args, path)
    if program.device_info is None:
        raise UserError("Predicted times are those of a device, and there is none here.  "
                        f"--as-device NAME stands for one: {', '.join(profile_names())}, or the "
                        "path of a profile.")
    return program.loaded, program.device_info.name


def _explained(args: argparse.Namespace, loaded: LoadedProgram, entry: str) -> _Explained:
    forest = forest_of(loaded.compiled.versioned_entry(entry)).entry(entry)
    sizes = assigned(args.sizes)
    if args.over is None or args.over in sizes:
        inputs = inputs_of(loaded, entry, args.sizes, args.only, args.lengths)
        calls = [call.ExplainedCost(forest, name, predict_call(loaded, entry, given))
                 for name, given in inputs.items()]
    else:
        calls = []
    others = {name: size for name, size in sizes.items() if name != args.over}
    return _Explained(calls, [] if args.over is None else [
        _over(loaded, forest, args.over, others)])


def _over(loaded: LoadedProgram, forest: Forest, over: str, others: Mapping[str, int]
          ) -> curves.CostCurves:
    interface = loaded.interface(forest.entry)

    def at(size: int) -> Prediction:
        return predict_call(loaded, forest.entry,
                            arguments_of_sizes(interface, {**others, over: size}))

    label = ", ".join(f"{name}={size}" for name, size in others.items())
    arguments_of_sizes(interface, {**others, over: 1})  # UserError if the sizes are not those
    fitting = list(_fitting(loaded, forest.entry, over, others))
    if not fitting:
        raise UserError(f"The arrays of '{forest.entry}' do not fit the device with {label}.")
    return curves.cost_curves(forest, over, label, fitting, at)


def _fitting(loaded: LoadedProgram, entry: str, over: str, others: Mapping[str, int]
             ) -> Iterator[int]:
    """The sizes at which all arrays fit the device, from 1 on."""
    info = loaded.device.info
    for size in curves.GRID:
        try:
            given = arguments_of_sizes(loaded.interface(entry), {**others, over: size})
        except UserError:
            return
        largest = max((each.nbytes for each in given), default=0)
        if largest > info.max_alloc or loaded.estimate_memory(
                entry, given).bytes > info.global_bytes:
            return
        yield size


def _write(args: argparse.Namespace, path: Path, device: str, found: _Explained) -> Path:
    out = Path(args.html or path.with_suffix(".cost.html").name)
    (each,) = found.curves
    about = {"program": path.name, "entry point": each.forest.entry, "device": device,
             "other sizes": each.label or "none",
             "command": shlex.join(["runelift", *command_line()])}
    write_page(out, page(f"Predicted times of {path.name}", about, found.curves, found.calls))
    return out


def _texts(found: _Explained) -> Iterator[str]:
    yield from map(call.render, found.calls)
    for each in found.curves:
        where = f" with {each.label}" if each.label else ""
        first, last = each.calls[0][0], each.calls[-1][0]
        yield "\n".join([f"{each.forest.entry} over {each.over} = {first:,} to {last:,}{where}:", *(
            f"  {line}" for line in list(curves.said(each)) or ["no version changes"])])


def _facts(found: _Explained) -> dict[str, Any]:
    over = {"over": curves.facts(found.curves[0])} if found.curves else {}
    return {"inputs": {each.label: call.facts(each) for each in found.calls}, **over}
