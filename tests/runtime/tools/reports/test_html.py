"""Reports as a page: that what is drawn is what was measured, and that the page stands alone."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from runelift.ir.guards import Lengths
from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.runtime.tools.commands.cli import main
from runelift.runtime.tools.pages import charts
from runelift.runtime.tools.pages.document import document
from runelift.runtime.tools.pages.markup import element
from runelift.runtime.tools.pages.scales import Axis, Scale
from runelift.runtime.tools.reports.html.settings import parameter_charts
from runelift.runtime.tools.reports.html.tuned import tuned
from runelift.runtime.tools.reports.text import render
from runelift.runtime.tuner.analysis.guard_curves import crossovers, guard_curves, score_curves
from runelift.runtime.tuner.analysis.winners import standings
from runelift.runtime.tuner.costs.log import Log
from runelift.runtime.tuner.costs.noise import repeated_runs
from runelift.runtime.tuner.fit.fit import objective
from runelift.runtime.tuner.kernel_parameters.search import Trial
from runelift.runtime.tuner.kernel_parameters.tune import OperationResult, ParameterTuning
from runelift.runtime.tuner.measure.forced_runs import measure
from runelift.runtime.tuner.measure.protocols import Dataset
from runelift.runtime.tuner.result import EntryTuning, Tuning
from runelift.runtime.tuner.thresholds import conclude
from tests.runtime.tuner.simulated import Simulated, looped, nested, site
from tests.screens import MISSING, PROGRAM, screens

SVG = "{http://www.w3.org/2000/svg}"


def falling(where: str, index: int, par: int) -> float:
    """The outer version pays from 16 on, the second one never."""
    return [1.6 / par, 0.15, 0.1][index]


def concluded(log: Log | None = None) -> EntryTuning:
    sim = Simulated.of([looped(site("s", ("t0", []), ("t1", []), (None, [])))], falling)
    datasets = [Dataset(name, "main", lambda pars=pars: pars)  # type: ignore[misc]
                for name, pars in {"falling <1>": range(1, 33), "wide": [64, 32]}.items()]
    return conclude(sim.forest, sim.default, measure(sim, sim.forest, datasets, repeats=2, log=log))


def pictures(page: str) -> Iterator[ElementTree.Element]:
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        yield ElementTree.fromstring(svg)


def title(picture: ElementTree.Element) -> str:
    return picture.findtext(f"{SVG}title") or ""


def picture_of(page: str, words: str) -> ElementTree.Element:
    return next(p for p in pictures(page) if words in title(p))


@pytest.fixture
def page() -> str:
    return document("Tuning of p.fut", tuned(Tuning((concluded(),)), {"device": "simulated"}))


class Balanced(HTMLParser):
    """Checks that elements end in the order in which they begin."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.linked: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.linked += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(page: str) -> None:
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert all(f'id="{link[1:]}"' in page for link in parser.linked if link[0] == "#")
    assert {link[0] for link in parser.linked} == {"#"}
    assert "<script" not in page
    assert "url(" not in page
    assert "prefers-color-scheme: dark" in page


def test_names_of_datasets_are_no_markup(page: str) -> None:
    assert "falling &lt;1&gt;" in page
    assert "<1>" not in page


def test_every_picture_says_what_it_shows(page: str) -> None:
    found = list(pictures(page))
    assert len(found) >= 5
    for picture in found:
        names = picture.get("aria-labelledby", "").split()
        labels = [picture.find(f"*[@id='{name}']") for name in names]
        assert len(labels) == 2
        assert all(label is not None and label.text for label in labels)


def test_all_is_drawn_inside_of_the_picture(page: str) -> None:
    for picture in pictures(page):
        _, _, width, height = map(float, picture.get("viewBox", "").split())
        for each in picture.iter():
            for name, limit in (("x", width), ("cx", width), ("x1", width), ("x2", width),
                                ("y", height), ("cy", height), ("y1", height), ("y2", height)):
                assert 0 <= float(each.get(name, 0)) <= limit, (title(picture), each.attrib)


def decisions(page: str) -> list[tuple[str, str, list[str]]]:
    """The rows of the table of decisions: condition, version, and cells without markup."""
    table = re.search(r'<table class="stacks decisions">.*?</table>', page, re.DOTALL)
    assert table is not None
    rows = re.findall(r"<tr.*?</tr>", table[0].partition("<tbody>")[2], re.DOTALL)
    cells = [[re.sub("<.*?>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
             for row in rows]
    return [(first, second, rest) for first, second, *rest in cells]


def test_the_tree_marks_the_fastest_and_the_chosen(page: str) -> None:
    """Of whole runs with a version, V3 is fastest on one dataset; the choices mix V1 and V3."""
    assert decisions(page) == [
        ("if n ≥ 16 (in a loop)", "V1 (outer)", ["6.49 s ◀ 17 of 32", "75.0 ms ★ ◀"]),
        ("else if n ≥ 547,723", "V2 (outer)", ["4.80 s", "300 ms"]),
        ("else", "V3 (flat)", ["3.20 s ★ ◀ 15 of 32", "200 ms"])]


def test_winners() -> None:
    entry = concluded()
    falling_, wide = (standings(entry.forest, d, entry.fit.thresholds)
                      for d in entry.costs.datasets)
    assert {label: (each.best, each.chosen) for label, each in falling_.items()} == {
        "V1": (17, 17), "V2": (0, 0), "V3": (15, 15)}  # at 16 they cost the same
    assert (wide["V1"].best, wide["V1"].chosen, wide["V1"].encounters) == (2, 2, 2)


def test_the_crossover_is_where_both_sides_cost_the_same() -> None:
    entry = concluded()
    first, second = guard_curves(entry.costs, entry.fit.thresholds)
    assert first.guard == "main.t0"
    assert first.crossovers == (pytest.approx(16, rel=0.01),)
    assert second.crossovers == ()
    assert crossovers(((1, 1.0), (4, 4.0), (16, 1.0)), ((1, 2.0), (4, 2.0), (16, 2.0))) == (
        pytest.approx(2), pytest.approx(8))


def test_guards_on_lengths_compare_average_parallelism() -> None:
    entry = concluded()
    (tree,) = entry.costs.forest.trees
    facts = Lengths(*[Size.var(VName("n", 1))] * 5)
    ragged = replace(tree, alternatives=tuple(
        replace(each, guard=each.guard and replace(each.guard, lengths=facts))
        for each in tree.alternatives))
    costs = replace(entry.costs, forest=replace(entry.costs.forest, trees=(ragged,)))
    curves = next(guard_curves(costs, entry.fit.thresholds))
    assert curves.break_even == ("V1 and V2 to V3 break even near an average parallelism of 16, "
                                 "between lengths that were measured")
    assert all(each.average for each in score_curves(costs, entry.fit.thresholds))
    assert "threshold (work-items)" in document("t", tuned(Tuning((entry,)), {}))
    shown = document("t", tuned(Tuning((replace(entry, costs=costs, forest=costs.forest),)), {}))
    assert "average parallelism" in shown
    assert "(work-items)" not in shown


def test_the_score_is_least_where_the_threshold_was_chosen() -> None:
    entry = concluded()
    curve, other = score_curves(entry.costs, entry.fit.thresholds)
    scores = dict(curve.scores)
    assert min(scores.values()) == pytest.approx(scores[17])
    assert curve.matters
    assert other.guard == "main.t1"
    for value, score in curve.scores:
        assert score == pytest.approx(
            objective(entry.costs, {**entry.fit.thresholds, "main.t0": value}) / 2)
    assert not score_curves(entry.costs, {"main.t0": 1, "main.t1": 1})[1].matters


def test_curves_go_where_the_values_say() -> None:
    picture = ElementTree.fromstring(charts.curves(
        "t", "d", Axis("x (m)", str), Axis("y (s)", str),
        [charts.Series("one", [(0.0, 0.0), (10.0, 5.0)], 0)], [charts.Mark(10.0, "here")]))
    first, last, _legend = picture.findall(f"{SVG}circle")
    assert (first.get("cx"), first.get("cy")) == (f"{charts.LEFT:g}",
                                                  f"{charts.HEIGHT - charts.BOTTOM:g}")
    mark = next(e for e in picture.iter() if e.get("class") == "mark chosen")
    assert mark.get("x1") == last.get("cx")
    words = [e.text for e in picture.iter(f"{SVG}text")]
    assert {"x (m)", "y (s)", "one", "here"} <= set(words)


def test_heat_maps_are_darkest_where_it_is_fastest() -> None:
    picture = ElementTree.fromstring(charts.heat_map(
        "t", "d", ("group", [32, 64]), ("chunk", [1, 2]), [[1.0, 0.5], [None, 2.0]]))
    cells = [(e.get("class"), e.get("fill-opacity")) for e in picture.findall(f"{SVG}rect")]
    assert cells[:4] == [("cell", "0.39"), ("cell", "0.7"), ("cell empty", None), ("cell", "0.08")]
    assert cells[4] == ("cell", "0.7")  # the legend begins with the fastest


def test_heads_of_heat_maps_do_not_touch() -> None:
    drawn = ElementTree.fromstring(charts.heat_map(
        "t", "d", ("short", [262144, 1048576]), ("chunk", [1]), [[1.0, 0.5]]))
    one, other = (float(e.get("x", 0)) for e in drawn.findall(f"{SVG}text")
                  if e.text in ("262144", "1048576"))
    assert other - one > charts.LETTER * 7


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (0.9, 1.1), (1.0, 3e9), (17.0, 23.0)])
@pytest.mark.parametrize("logarithmic", [False, True])
def test_every_axis_has_values_beside_it(low: float, high: float, logarithmic: bool) -> None:
    scale = Scale.over([low, high], 0.0, 100.0, logarithmic)
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 13
    assert all(-1e-6 <= scale(tick) <= 100 + 1e-6 for tick in ticks)


def test_text_is_escaped_and_markup_is_not() -> None:
    assert element("p", ["<", element("b", "&")], title='"') == (
        '<p title="&#34;">&lt;<b>&amp;</b></p>')


def test_settings_of_kernels_are_a_heat_map_over_the_two_with_most_values() -> None:
    trials = tuple(Trial("d", {"main.r.group": group, "main.r.chunk": chunk, "main.r.groups": 9},
                         seconds, 2.0)
                   for group, chunk, seconds in [(32, 1, 2.0), (32, 2, 1.0), (64, 1, 4.0),
                                                 (64, 2, None), (128, 1, 3.0)])
    tuning = ParameterTuning("main", (OperationResult("main.r", 6, 5, {}, 1.0, 1.0,
                                                      {"no memory": 1}, trials),))
    page = document("t", parameter_charts(tuning))
    picture = picture_of(page, "main.r")
    assert picture.findtext(f"{SVG}desc") == "fastest with group 32, chunk 2."
    words = [t.text for t in picture.iter(f"{SVG}text")]
    assert words[:12] == [
        "chunk →", "group ↓", "1", "2", "32", "1.00", "0.50", "64", "2.00", "×", "128", "1.50"]
    assert {"fast to slow", "not tried", "refused"} <= set(words)
    assert "<li>1: no memory</li>" in page


def test_noise_is_the_spread_of_the_same_runs() -> None:
    measured = concluded().measurements
    found = repeated_runs(measured)
    assert len(found) == 6
    assert all(len(each.seconds) == 2 and each.deviation == 0 for each in found)


def test_programs_with_nested_choices() -> None:
    sim = Simulated.of(nested(), lambda where, index, par: (index + 1) * par)
    entry = conclude(sim.forest, sim.default, measure(
        sim, sim.forest, [Dataset("one", "main", lambda: [2, 4])], repeats=1))
    page = document("t", tuned(Tuning((entry,)), {}))
    found = decisions(page)
    assert [version for _, version, _ in found if version] == [
        f"V{k} ({leaf.kind.value})" for k, leaf in enumerate(sim.forest.leaves(), start=1)]
    assert [condition for condition, version, _ in found if not version] == [
        "a choice:", "else:", "a choice:", "a choice, in a loop:", "a choice, in a loop:"]


def test_the_text_has_what_the_page_has() -> None:
    text = render(Tuning((concluded(),)))
    assert "note: main.t0: V1 and V2 to V3 break even at 16 work-items" in text
    assert "makes a difference" not in text
    assert "Noise: half of the repeats are within 0 % of the median" in text


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def execute(*arguments: object) -> tuple[int, str, str]:
        return main([*map(str, arguments)]), *capsys.readouterr()

    return execute


def test_comparisons_draw_convergence(tmp_path: Path, run: Run) -> None:
    log = Log(tmp_path / "l.tuning.log")
    concluded(log)
    log.close()
    html = tmp_path / "page.html"
    status, out, _ = run("tune-compare", log.path, "--strategy", "binary", "--strategy",
                         "instrumentation", "--seeds", 1, "--json", "--html", html)
    assert status == 0
    (found,) = json.loads(out)["result"]
    picture = picture_of(html.read_text(), "Convergence over program runs")
    ends = {name: searches[0]["runs"] for name, searches in found["strategies"].items()}
    assert (picture.findtext(f"{SVG}desc") or "").startswith(
        f"binary: 0.00 % after {ends['binary']} runs; instrumentation: 0.00 % after "
        f"{ends['instrumentation']} runs")
    rows = re.findall(r'<th scope="row">binary</th><td>(\d+)</td>', html.read_text())
    assert rows == sorted(rows, key=int)
    assert len(rows) == len(found["strategies"]["binary"][0]["history"])
    assert len([p for p in picture.findall(f"{SVG}path")
                if (p.get("class") or "").startswith("line")]) >= 1


def test_a_search_has_no_records_to_draw(tmp_path: Path, run: Run) -> None:
    program = tmp_path / "p.fut"
    program.write_text("entry main (x: i64) = x\n")
    status, _, err = run("autotune", program, "--strategy", "binary", "--html", tmp_path / "x")
    assert status == 1
    assert "tune-compare --html" in err


@pytest.mark.skipif(PROGRAM is None, reason=MISSING)
def test_the_page_fits_screens(page: str, tmp_path: Path) -> None:
    html = tmp_path / "page.html"
    html.write_text(page)
    assert screens(html, widths=(480, 1280), schemes=("dark",)) == []
