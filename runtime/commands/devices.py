"""``runelift devices``: the OpenCL devices."""

from __future__ import annotations

import argparse
from dataclasses import fields

from runelift.runtime.commands.options import add_json, print_json
from runelift.runtime.device import find_devices


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print a line per device, the one that runs by default first."""
    devices = find_devices()
    if options.json:
        print_json([{f.name: getattr(d, f.name) for f in fields(d) if f.name != "handle"}
                    for d in devices])
        return 0
    for device in devices:
        note = f"  NOT USABLE: {device.problem}" if device.problem else ""
        print(f"{device.kind:9} {device.name}  [{device.platform}]  groups up to "
              f"{device.max_group}, {device.local_bytes // 1024} KiB local, "
              f"{device.global_bytes / 2**30:.1f} GiB{note}")
    if not devices:
        print("no OpenCL device; programs run in the interpreter")
    return 0
