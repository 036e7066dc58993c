"""``runelift doctor``: what works here, what does not, and why."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import shutil
from typing import Any

from runelift.runtime.cache import cache_folder
from runelift.runtime.commands.options import add_json, print_json
from runelift.runtime.device import find_devices, register_runtimes


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_json(parser)


def findings() -> list[dict[str, Any]]:
    """What was looked at: ``what``, ``ok``, ``detail`` and a ``hint`` where something is wrong."""
    found: list[dict[str, Any]] = [
        {"what": "python", "ok": True, "detail": platform.python_version()}]
    for package in ("numpy", "lark", "pyopencl", "networkx", "sympy"):
        try:
            found.append({"what": package, "ok": True,
                          "detail": importlib.metadata.version(package)})
        except importlib.metadata.PackageNotFoundError:
            found.append({"what": package, "ok": False, "detail": "not installed",
                          "hint": f"pip install {package}"})
    found += [{"what": "runtime", "ok": True, "detail": text} for text in register_runtimes()]
    linker = shutil.which("ld")
    found.append({"what": "linker", "ok": linker is not None,
                  "detail": linker or "no 'ld' on PATH; PoCL cannot build kernels",
                  "hint": "apt-get install binutils"})
    devices = find_devices()
    for device in devices:
        found.append({"what": f"device {device.name}", "ok": device.problem is None,
                      "detail": device.problem or device.label, "hint": device.hint})
    if not devices:
        found.append({"what": "devices", "ok": False,
                      "detail": "no OpenCL device; programs run in the interpreter",
                      "hint": "pip install 'pyopencl[pocl]'"})
    folder = cache_folder()
    found.append({"what": "cache", "ok": True, "detail": str(folder)})
    return found


def run(options: argparse.Namespace) -> int:
    """Print the findings; 0 whatever they are, for the interpreter always works."""
    found = findings()
    if options.json:
        print_json(found)
        return 0
    for item in found:
        print(f"{'ok  ' if item['ok'] else 'WARN'}  {item['what']}: {item['detail']}")
        if not item["ok"] and item.get("hint"):
            print(f"      hint: {item['hint']}")
    return 0
