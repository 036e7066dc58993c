"""The plans of the probes, from files beside this module.

Copied modules have it in place of :mod:`runelift.runtime.execution.probes.plans`.
"""

from __future__ import annotations

from pathlib import Path

from runelift.codegen.plan.plan import Plan
from runelift.runtime.exported.stored import load

SCAN, ROWS = "scan.plan", "rows.plan"


def scan_plan() -> Plan:
    """The plan of a scan over the grid."""
    return _plan(SCAN)


def rows_plan() -> Plan:
    """The plan of scans and sums of rows, a work-group for each."""
    return _plan(ROWS)


def _plan(name: str) -> Plan:
    found: Plan = load(Path(__file__).with_name(name))
    return found
