"""Passes: named functions from programs to programs."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from runelift.ir.base.errors import UserError
from runelift.ir.syntax import Program
from runelift.rewrite.analysis.bounds import PROVING, remove_checks
from runelift.rewrite.derive.derive import DERIVATIVES, derive
from runelift.rewrite.derive.sums import SUMS, sum_inside
from runelift.rewrite.engine.rule import Rewriting, Rule
from runelift.rewrite.flatten.rules import FLATTENING
from runelift.rewrite.lift.outside.apply import apply_rules
from runelift.rewrite.passes.before_loops import facts_before_loop
from runelift.rewrite.passes.concat_parts import concat_in_parts
from runelift.rewrite.passes.cse import SHARING, eliminate_common
from runelift.rewrite.passes.filters import FILTERS, without_filters
from runelift.rewrite.passes.fuse import fuse
from runelift.rewrite.passes.hoist import (
    hoist,
    hoist_arrays,
    hoist_invariant,
    hoist_quotient,
    hoist_stored,
)
from runelift.rewrite.passes.in_place import made_in_place
from runelift.rewrite.passes.layouts import LAYOUTS, arrange
from runelift.rewrite.passes.predicate import predicate, predicated_scatter, predicated_updates
from runelift.rewrite.passes.rearranged_results import rearranged_result
from runelift.rewrite.passes.rows import by_element, rows_by_element
from runelift.rewrite.passes.save_launches import (
    copy_beside,
    fill_together,
    read_together,
    save_launches,
    scatter_with_map,
)
from runelift.rewrite.passes.scan_launches import scan_backwards, scan_with_map
from runelift.rewrite.passes.short_circuit import short_circuit, update_early
from runelift.rewrite.passes.short_widths import SHORT_WIDTHS, write_out
from runelift.rewrite.passes.simplify import SIMPLIFICATION, further_rules, simplify
from runelift.rewrite.passes.sink import sink_elements
from runelift.rewrite.rules.fusion import HORIZONTAL, VERTICAL, alike_together, reduce_by_rows


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass: its name, a description, its rules, and the function.

    The second argument of ``run`` says which rules may fire, and has the names of the program.
    """

    name: str
    description: str
    run: Callable[[Program, Rewriting], Program]
    rules: tuple[Rule, ...] = ()


SIMPLIFY = Pass("simplify", "rules of algebra, indexing, control and arrays; dead code",
                simplify, SIMPLIFICATION.rules)
DERIVE = Pass("derivatives", "expand jvp and vjp", derive, DERIVATIVES)
SUM = Pass("sums", "sum the elements of arrays in derivatives each by itself", sum_inside,
           (*SUMS.rules, alike_together))
CSE = Pass("cse", "compute equal expressions once", eliminate_common, SHARING.rules)
HOIST = Pass("hoist", "move invariant statements out of lambdas, loops and branches", hoist,
             (hoist_invariant, hoist_quotient))
HOIST_ARRAYS = Pass("hoist-arrays", "move arrays that counters make out of lambdas and loops",
                    hoist_arrays, (hoist_stored,))
ARRANGE = Pass("layouts", "move layouts in front of the maps that make the arrays", arrange,
               LAYOUTS)
OUTSIDE = Pass("outside", "apply rules from outside (--rules)", apply_rules)
FUSE = Pass("fuse", "make one array operation of two", fuse,
            (*VERTICAL, *HORIZONTAL, reduce_by_rows))
FILTER = Pass("filters", "reduce without filters and scans in between", without_filters, FILTERS)
WRITE_OUT = Pass("short-widths", "write out short reductions and loops in maps", write_out,
                 SHORT_WIDTHS)
BOUNDS = Pass("bounds", "remove checks that cannot fail", remove_checks, PROVING)
ROWS = Pass("rows", "a work-item for each element of rows that are copied", by_element,
            (rows_by_element,))
PREDICATE = Pass("predicate", "conditional updates made by the device", predicate,
                 (predicated_updates, predicated_scatter))
LAUNCHES = Pass("launches", "fewer kernels and copies for the host to launch", save_launches,
                (facts_before_loop, scatter_with_map, scan_backwards, scan_with_map, copy_beside,
                 fill_together, sink_elements, read_together))
SHORT_CIRCUIT = Pass("short-circuit", "make values in the arrays that they are meant for",
                     short_circuit,
                     (rearranged_result, concat_in_parts, update_early, made_in_place))

PASSES: tuple[Pass, ...] = (DERIVE, SUM, SIMPLIFY, CSE, ARRANGE, HOIST, OUTSIDE, FUSE, FILTER,
                            HOIST_ARRAYS, WRITE_OUT, BOUNDS, ROWS, PREDICATE, LAUNCHES,
                            SHORT_CIRCUIT)
"""All passes."""

RULES: tuple[Rule, ...] = tuple(rule for each in PASSES for rule in each.rules)
"""The rule book of the optimiser."""


def require_rules(names: Iterable[str], outside: Iterable[str], *,
                  further: Iterable[str] = ()) -> None:
    """Raise UserError unless rewrite rules are called ``names``, or they are among ``further``.

    Known are the rules of Runelift and of installed packages, and those ``outside`` in a file.
    """
    known = {*(each.name for each in RULES), *further_rules(), *outside, *further}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise UserError(f"No rule or pass is called '{name}'."
                            + (f"  Did you mean '{near[0]}'?" if near else
                               "  'runelift rules' lists them."))


def require_dispensable(names: Collection[str], outside: Iterable[str]) -> None:
    """Raise UserError unless rules, rules of flattening or passes ``names`` can be left out."""
    steps = {name: bool(rule.heads) for rule in FLATTENING for name in (rule.name, rule.title)}
    require_rules(names, outside, further=[*steps, *(each.name for each in PASSES)])
    for name in names:
        if not steps.get(name, True):
            raise UserError(f"The rule '{name}' cannot be left out: no nest is flattened "
                            "without it.")
