"""List the OpenCL devices, the preferred first, with their limits.

Without --device, 'run' and all other commands use the first usable device that is not a simulator.
Runtimes that are registered but cannot be used are named on standard error.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict, replace

from runelift.ir.base.errors import UserError
from runelift.runtime.devices.info import DeviceInfo, find_devices, select, spec_of
from runelift.runtime.devices.registrations import described, registrations
from runelift.runtime.records.format import table
from runelift.runtime.tools.commands.options import add_options, print_json, warn
from runelift.runtime.tools.commands.progress import waiting
from runelift.runtime.tools.commands.styles import show

EXAMPLES = ("runelift doctor", "runelift doctor --json", "runelift doctor --measure")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift devices``."""
    add_options(parser, "json")
    add_measure(parser)


def add_measure(parser: argparse.ArgumentParser) -> None:
    """Add the options to measure a device."""
    parser.add_argument("--measure", action="store_true",
                        help="measure the constants of predicted times on --device, and keep them")
    add_options(parser, "device")


def facts(device: DeviceInfo) -> dict[str, object]:
    """The fields of a device's description by name, without the handle to the device."""
    known = asdict(replace(device, handle=None))
    del known["handle"]
    return known


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift devices``."""
    warn("'devices' is part of 'doctor' now.")
    for each in registrations():  # before drivers are used: one may crash
        if each.problem:
            show(described(each), sys.stderr)
    if args.measure:
        return measure(args)
    devices = find_devices()
    if args.json:
        print_json([facts(device) for device in devices])
        return 0
    if not devices:
        show("No OpenCL devices; the interpreter is used.  'runelift doctor' says more.")
        return 0
    labels = [each.label for each in devices]
    rows = [["device", "platform", "kind", "group", "local", "memory", ""]]
    for d in devices:
        rows.append([d.name, d.platform, d.kind, str(d.max_group), f"{d.local_bytes >> 10} KiB",
                     f"{d.global_bytes / 2**30:.1f} GiB",
                     f"cannot be used: {d.problem}" if d.problem else
                     f"--device '{spec_of(d)}'" if labels.count(d.label) > 1 else ""])
    show(table(rows))
    return 0


def measure(args: argparse.Namespace) -> int:
    """Measure the constants of a device, and keep them."""
    info = select(args.device)
    if info is None:
        raise UserError("There is no OpenCL device to measure.")
    # late: it uses OpenCL, which may be missing
    from runelift.runtime.tools.predictions.measure import measured_and_kept

    with waiting(f"measuring {info.label}"):
        costs = measured_and_kept(info)
    if args.json:
        print_json({"device": info.label, "costs": asdict(costs)})
    else:
        show(f"The constants of {info.label} are measured and kept: predicted times use them.")
        show(table([["constant", "value"],
                    *([name, f"{value:.3g}"] for name, value in asdict(costs).items())]))
    return 0
