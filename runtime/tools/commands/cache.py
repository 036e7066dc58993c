"""Show the cache of compiled programs and kernels, or empty it.

The cache only saves time: what is removed is made again when it is needed.  The variable
RUNELIFT_CACHE names its folder.  'clear' removes the cache's own files only.  OpenCL drivers keep
kernels in other folders, which 'info' shows, too.
"""

from __future__ import annotations

import argparse
import os
import stat
from pathlib import Path
from typing import Any, NamedTuple

from runelift.ir.base.errors import UserError
from runelift.runtime.cache import disk, private
from runelift.runtime.cache.inventory import KINDS, Inventory, files_in, inventory, remove
from runelift.runtime.devices.driver import pocl_cache
from runelift.runtime.tools.commands.options import add_options, print_json
from runelift.runtime.tools.commands.styles import show

EXAMPLES = ("runelift cache info", "RUNELIFT_CACHE=/tmp/mine runelift cache clear --json")


class DriverCache(NamedTuple):
    """The folder in which a driver keeps kernels, the number of its files, and their bytes."""

    driver: str
    folder: Path
    files: int
    bytes: int


def driver_caches() -> list[DriverCache]:
    """The caches of drivers that are there."""
    home = os.environ.get("HOME", "")
    nvidia = Path(os.environ.get("CUDA_CACHE_PATH") or Path(home) / ".nv" / "ComputeCache")
    folders = [("PoCL", pocl_cache.folder()), ("NVIDIA", nvidia)]
    found = list[DriverCache]()
    for driver, folder in folders:
        if folder is not None and folder.is_dir():
            sizes = [facts.st_size for _, facts in files_in(folder) if stat.S_ISREG(facts.st_mode)]
            found.append(DriverCache(driver, folder, len(sizes), sum(sizes)))
    return found


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``runelift cache``."""
    parser.add_argument("action", choices=("info", "clear"),
                        help="'info' shows the folder, and numbers and sizes of files by kind; "
                             "'clear' removes the files")
    add_options(parser, "json")


def execute(args: argparse.Namespace) -> int:
    """Run ``runelift cache``."""
    folder = disk.cache_folder()
    if folder is None:
        raise UserError("There is no cache, as there is no home folder.  RUNELIFT_CACHE may name a "
                        "folder for it.")
    found, why = inventory(folder), None
    if folder.exists() or folder.is_symlink():
        try:
            why = private.obstacle(folder)
        except OSError as error:
            why = str(error.strerror)
    if args.action == "clear":
        if why == private.FOREIGN:
            raise UserError(f"The files in '{folder}' are not removed: {why}.")
        found = remove(found)
    if args.json:
        print_json(_as_json(found, args.action, why))
    else:
        _print(found, args.action, why)
    return 0


def _print(found: Inventory, action: str, why: str | None) -> None:
    removed = action == "clear"
    show(f"{'Removed from' if removed else 'Folder'}: {found.folder}")
    if why is not None and not removed:
        show(f"It is not used: {why}.")
    for kind, (what, _) in KINDS.items():
        if found.count(kind):
            show(f"{found.count(kind):8}  {_bytes(found.size(kind)):>10}  {what}")
    show(f"{sum(map(found.count, KINDS)):8}  {_bytes(sum(map(found.size, KINDS))):>10}  in all")
    if found.others:
        show(f"{found.others:8}  {'':10}  files that are not Runelift's"
              + ", left there" * removed)
    for each in () if removed else driver_caches():
        show(f"{each.files:8}  {_bytes(each.bytes):>10}  of {each.driver}'s own, in {each.folder}")


def _as_json(found: Inventory, action: str, why: str | None) -> dict[str, Any]:
    return {"folder": str(found.folder), "action": action, "unused_because": why,
            "kinds": {kind: {"files": found.count(kind), "bytes": found.size(kind)}
                      for kind in KINDS}, "other_files": found.others,
            "drivers": [{**each._asdict(), "folder": str(each.folder)}
                        for each in driver_caches()]}


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"
