"""The threshold forest and the runs that cover it."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runelift.ir.base.errors import CompilerBug
from runelift.ir.syntax import Stm
from runelift.runtime.versions.forest import entry_forest, forest_of, plans
from tests.runtime.tuner.simulated import fun, nested, program, site


def test_text_of_a_chain() -> None:
    forest = entry_forest(fun(site("s", ("t0", []), ("t1", []), (None, []))))
    assert forest.render() == """\
main
└─ main.t0 ≤ n
   ├─ true: V1 (outer)
   └─ false: main.t1 ≤ n
      ├─ true: V2 (outer)
      └─ false: V3 (flat)"""


def test_text_of_siblings_and_loops() -> None:
    assert entry_forest(fun(*nested())).render() == """\
main
├─ main.a0 ≤ n
│  ├─ true: V1 (outer)
│  └─ false: main.a1 ≤ n
│     ├─ true: V2 (outer)
│     └─ false: split
│        ├─ main.b0 ≤ n
│        │  ├─ true: V3 (outer)
│        │  └─ false: V4 (flat)
│        └─ main.c0 ≤ n (in a loop, size-invariant)
│           ├─ true: V5 (outer)
│           └─ false: main.c1 ≤ n (size-invariant)
│              ├─ true: V6 (outer)
│              └─ false: V7 (flat)
└─ main.d0 ≤ n (in a loop, size-invariant)
   ├─ true: V8 (outer)
   └─ false: V9 (flat)"""


def test_text_without_choices() -> None:
    assert forest_of(program()).render() == "main: one version, no thresholds"


def test_graph_is_a_tree_with_a_leaf_per_version() -> None:
    forest = entry_forest(fun(*nested()))
    graph = forest.graph()
    assert nx.is_arborescence(graph)
    leaves = [n for n in graph if graph.out_degree(n) == 0]
    assert leaves == [a.label for a in forest.leaves()]
    assert all(graph.nodes[n]["kind"] == "version" for n in leaves)


def test_dot() -> None:
    dot = entry_forest(fun(site("s", ("t0", []), (None, [])))).dot()
    assert dot.startswith('digraph "main" {')
    assert '"main.t0" -> "V1" [label="true"];' in dot


def test_runs_are_shared_by_trees_and_siblings() -> None:
    found = plans(entry_forest(fun(*nested())))
    # a: 2 leaves and the larger of b (2) and c (3); d (2) is exercised in the same runs
    assert len(found) == 5
    assert found[0] == {"a": 0, "d": 0}
    assert found[4] == {"a": 2, "b": 0, "c": 2, "d": 0}


def test_no_choices_need_one_run() -> None:
    assert plans(entry_forest(fun())) == ({},)


SITES = st.recursive(
    st.lists(st.just([]), min_size=2, max_size=3),
    lambda sites: st.lists(st.lists(sites, max_size=2), min_size=2, max_size=3), max_leaves=20)
Shape = list


@given(st.lists(SITES, max_size=3))
def test_every_version_of_every_site_is_forced_where_it_is_reached(shapes: Shape) -> None:
    count = 0

    def build(shape: Shape) -> Stm:
        nonlocal count
        count += 1
        name = f"s{count}"
        return site(name, *(
            (f"{name}_{k}" if k < len(shape) - 1 else None, [build(inner) for inner in inside])
            for k, inside in enumerate(shape)))

    forest = entry_forest(fun(*map(build, shapes)))
    reached = set()
    for force in plans(forest):
        todo = list(forest.trees)
        while todo:
            where = todo.pop()
            index = force[where.name]
            reached.add((where.name, index))
            todo += where.alternatives[index].sites
    assert reached == {(s.name, k) for s in forest.sites().values()
                       for k in range(len(s.alternatives))}


def test_site_names_are_unique() -> None:
    with pytest.raises(CompilerBug):
        entry_forest(fun(site("s", ("t0", []), (None, [])), site("s", ("t1", []), (None, []))))
