"""The threshold forest: the comparisons that lead to each code version.

The forest is read off a program in versioned form.  A ``Versions`` node is a chain of guards.  The
*true* edge of a guard leads to its version, the *false* edge to the next guard.  The last false
edge leads to the unguarded version.  A version with sites in it (nested ``Versions``) leads on to
their trees, below a *split* if there are several (Breddam 2019, figure 1.7).  A version without
sites is a leaf, named V1, V2, ... from the left.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from runelift.ir.base.errors import CompilerBug
from runelift.ir.guards import Guard, Kind
from runelift.ir.names import VName
from runelift.ir.syntax import Body, Exp, ForLoop, Fun, Loop, Program, Stm, Versions
from runelift.ir.traverse import bodies_of, free_vars
from runelift.runtime.displayed import Displayed
from runelift.runtime.versions.guard_chain import GuardTest, guard_tests
from runelift.runtime.versions.size_names import show_size, shown_sizes

if TYPE_CHECKING:
    import networkx as nx

def carried(exp: Exp) -> set[VName]:
    """The index and the parameters of a loop, without parameters that never change.

    A guard is *size-variant* if its parallelism changes in a loop around it (Munksgaard et al., TFP
    2021).  One that merely stands in a loop compares with one number, again and again.
    """
    if not isinstance(exp, Loop):
        return set()
    names = {each.param.name for each, after in zip(exp.params, exp.body.result, strict=True)
             if each.param.name != after}
    return names | ({exp.form.index} if isinstance(exp.form, ForLoop) else set())


def computed(stm: Stm, changing: set[VName]) -> set[VName]:
    """The names that a statement binds, if it needs any that change."""
    needs = bool(changing) and not changing.isdisjoint(free_vars(stm.exp))
    return {param.name for param in stm.pat} if needs else set()


_KEY = re.compile(r"[^@]*@(?P<place>\d+:\d+)/")
"""A guard's key begins with the function and the place of the construct."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One version of a site: a leaf with a ``label``, or with inner ``sites``.

    ``schedule`` has the steps that made a rewritten version.
    """

    guard: Guard | None
    kind: Kind
    label: str | None
    sites: tuple[Site, ...]
    schedule: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Site:
    """A ``Versions`` node.  ``loops`` counts the sequential loops between it and its parent.

    Guards that are ``size_variant``, by the names of their thresholds, compare with a size that
    changes in a loop around.
    ``tests`` are its versions in the order in which guards are tested.
    """

    name: str
    loops: int
    alternatives: tuple[Alternative, ...]
    size_variant: frozenset[str] = frozenset()
    tests: tuple[GuardTest, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tests", guard_tests(each.guard for each in self.alternatives))

    @property
    def guards(self) -> tuple[Guard, ...]:
        """The guards in the order in which they are tested."""
        return tuple(a.guard for a in self.alternatives if a.guard is not None)

    @property
    def place(self) -> str:
        """The start of the construct in the source, ``line:column``, if the guards know it."""
        return next((found["place"] for guard in self.guards
                     if (found := _KEY.match(guard.key))), "")

    def walk(self) -> Iterator[Site]:
        """The site and all below it, parents first."""
        yield self
        for alternative in self.alternatives:
            for site in alternative.sites:
                yield from site.walk()


@dataclass(frozen=True, slots=True, repr=False)
class Forest(Displayed):
    """The threshold trees of one entry point, in program order.

    ``shown`` is what to say of names of sizes (:mod:`~runelift.runtime.versions.size_names`).
    """

    entry: str
    trees: tuple[Site, ...]
    shown: Mapping[str, str] = field(default_factory=dict, compare=False)

    def sites(self) -> dict[str, Site]:
        """All sites by name, parents before children."""
        return {site.name: site for tree in self.trees for site in tree.walk()}

    def guards(self) -> dict[str, Guard]:
        """All guards by the name of their threshold."""
        return {guard.name: guard for site in self.sites().values() for guard in site.guards}

    def leaves(self) -> tuple[Alternative, ...]:
        """All versions without sites in them, V1 first."""
        return tuple(alternative for site in self.sites().values()
                     for alternative in site.alternatives if alternative.label)

    def graph(self) -> nx.DiGraph:
        """The forest as a graph of NetworkX, which ``pip install ".[explain]"`` brings.

        Nodes have a ``kind`` (root, guard, split or version) and a ``label``.  Guards and versions
        in loops also have ``loops``; guards there are ``size_variant`` or not.  Edges have a
        ``branch``: true, false or None.
        """
        # late: start-up; it takes longer than most programs run
        import networkx as nx

        graph, drawn = nx.DiGraph(), self._drawn()
        for node, data in drawn.nodes.items():
            graph.add_node(node, **data)
        for source, below in drawn.below.items():
            for target, branch in below.items():
                graph.add_edge(source, target, branch=branch)
        return graph

    def _drawn(self) -> _Drawing:
        drawn = _Drawing()
        drawn.nodes[self.entry] = {"kind": "root", "label": self.entry}
        for tree in self.trees:
            _add_site(drawn, self.entry, None, tree, self.shown, False)
        return drawn

    def compared(self, guard: Guard) -> str:
        """The size that the guard compares with its threshold, in words of the source."""
        return show_size(guard.par, self.shown)

    def render(self) -> str:
        """The forest as indented text."""
        lines = [self.entry if self.trees else f"{self.entry}: one version, no thresholds"]
        lines += _render_below(self._drawn(), self.entry, "")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.render()

    def dot(self) -> str:
        """The forest in the language of Graphviz."""
        drawn = self._drawn()
        shapes = {"root": "plaintext", "guard": "box", "split": "point", "version": "ellipse"}
        lines = [f"digraph {_quote(self.entry)} {{"]
        for node, data in drawn.nodes.items():
            lines.append(f"  {_quote(node)} [shape={shapes[data['kind']]}, "
                         f"label={_quote(_label(data))}];")
        for source in drawn.nodes:
            for target, branch in drawn.below.get(source, {}).items():
                shown = f" [label={_quote(branch)}]" if branch else ""
                lines.append(f"  {_quote(source)} -> {_quote(target)}{shown};")
        return "\n".join([*lines, "}"])


# Building


@dataclass(frozen=True, slots=True, repr=False)
class Forests(Displayed):
    """The forests of all entry points of a program."""

    entries: tuple[Forest, ...]

    def entry(self, name: str) -> Forest:
        """The forest of one entry point."""
        return next(forest for forest in self.entries if forest.entry == name)

    def guards(self) -> tuple[Guard, ...]:
        """All guards of the program; guards that are tested first come first."""
        return tuple(guard for forest in self.entries for guard in forest.guards().values())

    def render(self) -> str:
        """The forests as indented text."""
        return "\n\n".join(forest.render() for forest in self.entries)

    def dot(self) -> str:
        """The forests in the language of Graphviz, one graph each."""
        return "\n".join(forest.dot() for forest in self.entries)

    def __repr__(self) -> str:
        return self.render()


def forest_of(program: Program) -> Forests:
    """The threshold forests of a versioned program."""
    return Forests(tuple(entry_forest(fun) for fun in program.funs))


def entry_forest(fun: Fun) -> Forest:
    """The forest of one entry point."""
    labels = (f"V{number}" for number in count(1))
    trees = tuple(_sites(fun.body, 0, set(), labels))
    names = [site.name for tree in trees for site in tree.walk()]
    if len(set(names)) != len(names):
        raise CompilerBug(f"Two choices of '{fun.name}' have the same site name: {names}.")
    return Forest(fun.name, trees, shown_sizes(fun, (
        guard for tree in trees for site in tree.walk() for guard in site.guards)))


def _sites(body: Body, loops: int, around: set[VName], labels: Iterator[str]) -> Iterator[Site]:
    """The outermost sites in a body; the names ``around`` change in loops around it."""
    changing = set(around)
    for stm in body.stms:
        exp = stm.exp
        if isinstance(exp, Versions):
            yield _site(exp, loops, changing, labels)
        else:
            inside, names = loops + isinstance(exp, Loop), changing | carried(exp)
            for inner in bodies_of(exp):
                yield from _sites(inner, inside, names, labels)
        changing |= computed(stm, changing)


def _site(versions: Versions, loops: int, changing: set[VName], labels: Iterator[str]) -> Site:
    alternatives = []
    for version in versions.alternatives:
        below = tuple(_sites(version.body, 0, changing, labels))
        label = None if below else next(labels)
        alternatives.append(Alternative(version.guard, version.kind, label, below,
                                        version.schedule))
    return Site(versions.site, loops, tuple(alternatives), frozenset(
        each.guard.name for each in alternatives
        if each.guard is not None and changing & each.guard.par.variables()))


# Covering


def plans(forest: Forest, choices: Mapping[str, Collection[int]] | None = None
          ) -> tuple[dict[str, int], ...]:
    """The fewest runs that exercise every version of every site: site to index, per run.

    The runs a site needs are the sum over its versions of the runs that each needs.  Independent
    sites (trees, and siblings below a split) are exercised in the same runs.  If there are
    ``choices``, these versions of their sites are meant.
    """
    return tuple(_together(forest.trees, choices or {})) or ({},)


def _together(sites: tuple[Site, ...], choices: Mapping[str, Collection[int]]
              ) -> list[dict[str, int]]:
    """Runs that cover several independent sites at once; the shorter list starts over."""
    each = [_cover(site, choices) for site in sites]
    length = max((len(one) for one in each), default=0)
    return [{name: index for one in each for name, index in one[run % len(one)].items()}
            for run in range(length)]


def _cover(site: Site, choices: Mapping[str, Collection[int]]) -> list[dict[str, int]]:
    runs = []
    for index, alternative in enumerate(site.alternatives):
        if index in choices.get(site.name, range(len(site.alternatives))):
            for below in _together(alternative.sites, choices) or [{}]:
                runs.append({site.name: index, **below})
    return runs


# The drawing and its two texts


@dataclass(slots=True)
class _Drawing:
    """Nodes with what is known of them, and to which nodes each leads by which branch."""

    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    below: dict[str, dict[str, str | None]] = field(default_factory=dict)

    def add(self, node: str, parent: str, branch: str | None, **data: Any) -> None:
        self.nodes[node] = data
        self.below.setdefault(parent, {})[node] = branch


def _add_site(drawn: _Drawing, parent: str, branch: str | None, site: Site,
              shown: Mapping[str, str], looped: bool) -> None:
    """Add the guards and versions of a site; it is ``looped`` if its parent stands in a loop."""
    looped = looped or site.loops > 0
    for index, alternative in enumerate(site.alternatives):
        if alternative.guard is not None:
            guard = alternative.guard
            drawn.add(guard.name, parent, branch, kind="guard", guard=guard, site=site.name,
                      loops=site.loops if index == 0 else 0,
                      size_variant=guard.name in site.size_variant if looped else None,
                      place=site.place if index == 0 else "",
                      label=guard.name + (
                          ": too little memory for others" if guard.kind is Kind.SLABS else
                          f" ≤ {show_size(guard.par, shown)}"
                          + _conditions(alternative, guard, shown)))
            _add_version(drawn, guard.name, "true", site, alternative, shown, looped)
            parent, branch = guard.name, "false"
        else:
            _add_version(drawn, parent, branch, site, alternative, shown, looped)


def _conditions(alternative: Alternative, guard: Guard, shown: Mapping[str, str]) -> str:
    needs = "".join(f", {show_size(need.left, shown)} {need.kind.value} "
                    f"{show_size(need.right, shown)}" for need in guard.needs)
    steps = f" by {'; '.join(alternative.schedule)}" if alternative.schedule else ""
    return needs + steps


def _add_version(drawn: _Drawing, parent: str, branch: str | None, site: Site,
                 alternative: Alternative, shown: Mapping[str, str], looped: bool) -> None:
    if alternative.label:
        drawn.add(alternative.label, parent, branch, kind="version", version=alternative.kind,
                  loops=0, site=site.name,
                  label=f"{alternative.label} ({alternative.kind.value})")
        return
    if len(alternative.sites) > 1:
        split = f"{site.name}/{site.alternatives.index(alternative)}"
        drawn.add(split, parent, branch, kind="split", label="split", loops=0)
        parent, branch = split, None
    for below in alternative.sites:
        _add_site(drawn, parent, branch, below, shown, looped)


def _label(data: dict[str, Any]) -> str:
    loops = data.get("loops", 0)
    variant = data.get("size_variant")
    notes = [{0: "", 1: "in a loop"}.get(loops, f"in {loops} loops"),
             "" if variant is None else "size-variant" if variant else "size-invariant"]
    around = f" ({', '.join(filter(None, notes))})" if any(notes) else ""
    place = f" [{data['place']}]" if data.get("place") else ""
    return f"{data['label']}{place}{around}"


def _render_below(drawn: _Drawing, node: str, indent: str) -> Iterator[str]:
    targets = drawn.below.get(node, {})
    for number, (target, branch) in enumerate(targets.items(), start=1):
        last = number == len(targets)
        text = (f"{branch}: " if branch else "") + _label(drawn.nodes[target])
        yield indent + ("└─ " if last else "├─ ") + text
        yield from _render_below(drawn, target, indent + ("   " if last else "│  "))


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
