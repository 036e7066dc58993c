"""The ledger: predicted versions, launches, bytes and times of the families, row by row."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runelift.codegen.cost import version_costs
from runelift.codegen.cost.totals import Work
from runelift.codegen.cost.work import work_source
from runelift.codegen.segops import seghist
from runelift.ir import imp
from runelift.ir.guards import Kind
from runelift.runtime.devices.profiles import profile
from runelift.runtime.predictions.modelled_device import ModelledDevice, modelled
from tests.ledger import ledger
from tests.ledger.ledger import (
    BEST,
    DEVICES,
    MISSING,
    ROWS,
    Page,
    Row,
    compiled_family,
    lines,
    page_of,
    read,
    row,
    rows_of,
    short,
)
from tests.ledger.shapes import FAMILIES, shapes

REWRITE = "'python -m tests.ledger.update' writes the ledger anew."
WATCHED = next(each for each in FAMILIES if each.stem == "reductions_rows")


def changes(family: Path, found: list[Row]) -> str:
    """The rows that differ from those of the file on the devices that were found; "" if none."""
    devices = {each.device for each in found}
    known = [each for each in read(page_of(family)).rows() if each.device in devices]
    if known == found:
        return ""
    both = lines([*known, *found])
    return "\n".join([f"{family.stem} is not as the ledger has it.  {REWRITE}", f"  {both[0]}", *(
        line for line in difflib.ndiff(both[1:len(known) + 1], both[len(known) + 1:])
        if line[0] in "+-")])


def complaints(found: Page) -> Iterator[str]:
    """What is wrong with the rows of a file, and with its reasons."""
    explicable = {each.entry for each in found.rows() if each.explicable}
    for each in found.rows():
        where = f"{each.entry}, {each.sizes} on {each.device}"
        if float(each.best) > BEST:
            yield f"{where}: another plan of versions takes {each.best} times less"
        if each.above_the_roof and found.reasons.get(each.entry, MISSING) == MISSING:
            yield (f"{where}: {each.roof} times what launches and memory take, bound by "
                   f"{each.bound}; below the rows, say why")
    yield from (f"{entry}: no row needs its reason"
                for entry in sorted(found.reasons.keys() - explicable))


@pytest.mark.sweep(keep=["h200"])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.stem)
def test_predictions_are_those_of_the_ledger(family: Path, device: str) -> None:
    if found := changes(family, rows_of(family, device)):
        pytest.fail(found, pytrace=False)


def test_every_family_has_a_file() -> None:
    assert sorted(ROWS.iterdir()) == [page_of(each) for each in FAMILIES]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.stem)
def test_versions_are_the_best_and_times_near_the_roof(family: Path) -> None:
    assert list(complaints(read(page_of(family)))) == []


def test_laws_are_broken_where_they_are() -> None:
    found = read(page_of(WATCHED))
    rows = found.rows()
    worse = replace(found, lines=lines([replace(rows[0], best="1.3"), *rows[1:]]))
    slower = replace(found, lines=lines([replace(rows[0], roof="4.1"), *rows[1:]]))
    idle = replace(found, reasons={**found.reasons, "nothing": "it has a reason"})
    known = list(complaints(found))
    assert [len(list(complaints(each))) - len(known) for each in (worse, idle)] == [1, 1]
    assert "say why" in "\n".join(complaints(replace(slower, reasons={})))


@pytest.fixture
def before() -> list[Row]:
    """The rows of a family."""
    return rows_of(WATCHED, "h200")


def test_a_refused_version_of_scans_shows() -> None:
    """The change of 25 November 2026: each long row had one work-item."""
    family = next(each for each in FAMILIES if each.stem == "scans_rows")
    loaded = modelled(compiled_family(family), ModelledDevice(profile("h200")))
    executable = loaded.executable("rows")
    for site in executable.generated.sites:
        executable.infeasible |= {f"{site.site}/{number}": "a branch that would not run"
                                  for number, version in enumerate(site.versions)
                                  if version.kind is Kind.FLAT}
    after = [row(loaded, shape, "h200") for shape in shapes(family)]
    assert re.search(r"^- rows +n=1,m=10000000 ", changes(family, after), re.M)
    assert max(float(each.roof) for each in after) > 1000
    assert any("say why" in each for each in complaints(Page("", tuple(lines(after)), {})))


def test_histograms_without_atomic_updates_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Histograms of bytes before there were updates of parts of words."""
    family = next(each for each in FAMILIES if each.stem == "histograms")
    monkeypatch.setattr(seghist, "_in_lockstep", seghist._sequential)
    monkeypatch.setattr(ledger, "compiled_family", compiled_family.__wrapped__)
    after = rows_of(family, "h200")
    assert re.search(r"^- marks +k=1000000,n=10000000 ", changes(family, after), re.M)
    assert max(float(each.roof) for each in after) > 1000


def test_a_version_that_cannot_run_shows(before: list[Row]) -> None:
    loaded = modelled(compiled_family(WATCHED), ModelledDevice(profile("h200")))
    executable = loaded.executable("sums")
    (site,) = executable.generated.sites
    ran = int(before[0].versions.split()[0].removeprefix("V")) - 1
    executable.infeasible[f"{site.site}/{ran}"] = "left out by this test"
    after = [row(loaded, shape, "h200") for shape in shapes(WATCHED)]
    shown = changes(WATCHED, after)
    assert changes(WATCHED, before) == ""
    assert re.search(r"^- sums +n=1,m=20000000", shown, re.M)
    assert re.search(r"^\+ sums +n=1,m=20000000", shown, re.M)
    assert "tops" not in shown


@pytest.mark.parametrize("field", ["read", "distinct", "steps"])
def test_work_of_kernels_shows(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def heavier(kernel: imp.Kernel) -> str:
        code, _, fields = work_source(kernel).rpartition("return (")
        work = fields.rstrip(")\n").split(", ")
        place = Work._fields.index(field)
        work[place] = f"64 * ({work[place]})"
        return f"{code}return ({', '.join(work)})\n"

    monkeypatch.setattr(version_costs, "work_source", heavier)
    monkeypatch.setattr(ledger, "compiled_family", compiled_family.__wrapped__)
    shown = changes(WATCHED, rows_of(WATCHED, "h200"))
    assert sum(line.startswith("- sums") for line in shown.splitlines()) >= 3


@pytest.mark.parametrize(("value", "unit", "text"), [
    (0.0, "s", "0s"), (1.0, "", "1"), (999.0, "", "1k"), (994.0, "", "990"), (1e-6, "s", "1us"),
    (9.96e-4, "s", "1ms"), (2.25e-6, "s", "2.2us"), (2.25e-6 * (1 + 1e-15), "s", "2.2us"),
    (123456789.0, "", "120M"), (float("inf"), "s", "-")])
def test_numbers_have_two_digits(value: float, unit: str, text: str) -> None:
    assert short(value, unit) == text
