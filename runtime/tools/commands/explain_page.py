"""Explain a program as a page: ``runelift explain FILE --html``."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from runelift.runtime.devices.driver.device_spec import requested
from runelift.runtime.devices.info import DeviceInfo, find_devices, select
from runelift.runtime.tools.commands.explained_program import compiled_source
from runelift.runtime.tools.commands.open_program import entries_of
from runelift.runtime.tools.commands.options import print_json
from runelift.runtime.tools.commands.rewriting_options import rewriting_of
from runelift.runtime.tools.explanation.history import History
from runelift.runtime.tools.explanation.page import explained
from runelift.runtime.tools.pages.document import write_page


def explain(args: argparse.Namespace, path: Path) -> None:
    """Write the page, and say where it is."""
    history = History(rewriting_of(args))
    compiled = compiled_source(args, path, history.rewriting)
    asked = entries_of(args, compiled.interfaces)
    entries = [fun.name for fun in compiled.core.funs if fun.name in asked]
    page = explained(compiled, history, entries=entries, device=_device(args.device),
                     command=f"runelift explain {shlex.quote(path.name)} --html")
    out = Path(args.html or path.with_suffix(".html").name)
    write_page(out, page)
    if args.json:
        print_json({"page": str(out), "bytes": out.stat().st_size, "entries": entries})
    else:
        print(f"Wrote {out} ({out.stat().st_size / 1000:,.0f} kB); open it in a browser.")


def _device(spec: str | None) -> DeviceInfo | None:
    """The device that kernels are made for; None if there is none, and none was asked for."""
    if requested(spec) is not None:
        return select(spec)
    return next((each for each in find_devices()
                 if each.problem is None and not each.is_simulator), None)
