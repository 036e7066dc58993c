"""The threshold forest: which choices a program has, and which depend on which.

A tree's inner nodes are guards, its leaves code versions V1, V2, ...  The flat version of a site
may hold sites of its own; several of them side by side split the tree (Breddam 2019, figure
1.7), and a site in a loop is marked, for it meets many sizes (figure 1.8).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from runelift.ir.names import VName
from runelift.ir.syntax import Body, Guard, If, Kind, Loop, Program, Stm, Version, Versions


@dataclass(frozen=True, slots=True)
class Alternative:
    """A version of a site: its guard, its label if it is a leaf, and the sites inside."""

    guard: Guard | None
    kind: Kind
    label: str
    inner: tuple[Site, ...]


@dataclass(frozen=True, slots=True)
class Site:
    """A choice: a ``Versions`` node.  ``line`` is that of the source, 0 if unknown."""

    name: str
    alternatives: tuple[Alternative, ...]
    in_loop: bool
    line: int


@dataclass(frozen=True, slots=True)
class Forest:
    """The sites of a program that are not inside of others, per entry point."""

    entries: dict[str, tuple[Site, ...]]

    def sites(self, entry: str | None = None) -> Iterator[Site]:
        """All sites, outer before inner."""
        for name, roots in self.entries.items():
            if entry in (None, name):
                for root in roots:
                    yield from _walk(root)

    def guards(self, entry: str | None = None) -> Iterator[Guard]:
        """All guards, in the order of their sites."""
        for site in self.sites(entry):
            yield from (a.guard for a in site.alternatives if a.guard is not None)

    def assignments(self, entry: str) -> list[dict[str, int]]:
        """Which alternative to force at each site, run by run, so that all versions run.

        All trees, and all siblings in a tree, are exercised together: the number of runs is
        that of the tree with the most versions, not the sum.
        """
        runs = max((_versions(site) for site in self.entries[entry]), default=1)
        return [dict(pair for site in self.entries[entry] for pair in _assign(site, run))
                for run in range(runs)]

    def graph(self) -> Any:
        """The forest as a networkx graph: guards and versions, edges ``true`` and ``false``."""
        import networkx as nx

        graph = nx.DiGraph()
        for roots in self.entries.values():
            for root in roots:
                _add(graph, root)
        return graph

    def render(self, notes: dict[str, str] | None = None) -> str:
        """The forest as text; ``notes`` (by label) are added to the versions."""
        lines: list[str] = []
        for name, roots in self.entries.items():
            lines.append(f"{name}:" + ("" if roots else "  one version, nothing to choose"))
            for root in roots:
                _render(root, "  ", lines, notes or {})
        return "\n".join(lines)

    def dot(self) -> str:
        """The forest in Graphviz's language."""
        graph = self.graph()
        shapes = {"guard": "diamond", "version": "box", "split": "hexagon"}
        lines = ["digraph thresholds {", "  node [fontname=monospace];"]
        for node, data in graph.nodes(data=True):
            lines.append(f'  "{node}" [shape={shapes[data["kind"]]}, label="{data["label"]}"];')
        for source, target, data in graph.edges(data=True):
            lines.append(f'  "{source}" -> "{target}" [label="{data["label"]}"];')
        return "\n".join([*lines, "}"])


def forest_of(program: Program) -> Forest:
    """The threshold forest of a versioned program."""
    return Forest({fun.name: tuple(_sites(fun.body, False, count(1))) for fun in program.funs})


def _sites(body: Body, in_loop: bool, labels: Iterator[int]) -> Iterator[Site]:
    for stm in body.stms:
        match stm.exp:
            case Versions(name, versions):
                alternatives = tuple([_alternative(v, in_loop, labels) for v in versions])
                yield Site(name, alternatives, in_loop, _line(stm))
            case Loop(body=inner):
                yield from _sites(inner, True, labels)
            case If(then_=then_, else_=else_):
                yield from _sites(then_, in_loop, labels)
                yield from _sites(else_, in_loop, labels)


def _alternative(version: Version, in_loop: bool, labels: Iterator[int]) -> Alternative:
    inner = tuple(_sites(version.body, in_loop, labels))
    label = "" if inner else f"V{next(labels)}"
    return Alternative(version.guard, version.kind, label, inner)


def _line(stm: Stm) -> int:
    return stm.loc.line if stm.loc is not None else 0


def _walk(site: Site) -> Iterator[Site]:
    yield site
    for alternative in site.alternatives:
        for inner in alternative.inner:
            yield from _walk(inner)


def _runs(alternative: Alternative) -> int:
    return max((_versions(site) for site in alternative.inner), default=1)


def _versions(site: Site) -> int:
    """How many runs exercise all versions of a site."""
    return sum(_runs(alternative) for alternative in site.alternatives)


def _assign(site: Site, run: int) -> Iterator[tuple[str, int]]:
    """The alternatives of run number ``run``; trees with fewer versions repeat their last."""
    run = min(run, _versions(site) - 1)
    for number, alternative in enumerate(site.alternatives):
        if run < _runs(alternative):
            yield site.name, number
            for inner in alternative.inner:
                yield from _assign(inner, run)
            return
        run -= _runs(alternative)


def show_condition(guard: Guard) -> str:
    """``threshold <= parallelism`` with the names of the source."""
    def base(name: VName) -> str:
        return name.base

    return f"{guard.name} <= {guard.par.render(base)}"


def _render(site: Site, pad: str, lines: list[str], notes: dict[str, str]) -> None:
    place = f", line {site.line}" if site.line else ""
    lines.append(f"{pad}{site.name}{place}{', in a loop' if site.in_loop else ''}")
    for number, alternative in enumerate(site.alternatives):
        last = number == len(site.alternatives) - 1
        when = show_condition(alternative.guard) if alternative.guard is not None else "else"
        name = f"{alternative.label} {alternative.kind.value}".strip()
        note = notes.get(alternative.label, "")
        lines.append(f"{pad}{'└' if last else '├'}─ {when} → {name}" + (f"   {note}" if note else ""))
        for inner in alternative.inner:
            _render(inner, pad + ("     " if last else "│    "), lines, notes)


def _add(graph: Any, site: Site) -> str:
    """Add a tree; the name of its root."""
    root = previous = ""
    for alternative in site.alternatives:
        target = _add_target(graph, site, alternative)
        node = target
        if alternative.guard is not None:
            node = alternative.guard.name
            loop = " (loop)" if site.in_loop else ""
            graph.add_node(node, kind="guard", label=show_condition(alternative.guard) + loop)
            graph.add_edge(node, target, label="true")
        if previous:
            graph.add_edge(previous, node, label="false")
        root, previous = root or node, node
    return root


def _add_target(graph: Any, site: Site, alternative: Alternative) -> str:
    if len(alternative.inner) == 1:
        return _add(graph, alternative.inner[0])
    if alternative.inner:
        split = f"{site.name}/split"
        graph.add_node(split, kind="split", label="split")
        for inner in alternative.inner:
            graph.add_edge(split, _add(graph, inner), label="")
        return split
    node = f"{site.name}/{alternative.label}"
    graph.add_node(node, kind="version", label=f"{alternative.label} {alternative.kind.value}")
    return node
