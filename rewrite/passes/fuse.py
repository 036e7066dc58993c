"""Fusion: which two array operations of a body are brought together, and where they then stand.

Bodies are fused from the inside out.  Inside a body, the dependence graph decides: two
operations can become one if no third statement needs the first and is needed by the second.
What stands between them moves in front of the fused operation, or behind it if it needs the
first.  Nothing moves past an operation that consumes an array it reads, and nothing that
depends on an assertion moves in front of it.  No computation is repeated: a result that a third
statement needs stays a result of the fused operation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import consumed_by, root_of
from runelift.ir.analysis.placement import is_stored
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import (
    bodies_inside,
    body_of,
    free_vars,
    lambda_of,
    lambdas_of,
    map_inside,
    stm_of,
)
from runelift.ir.types import Atom
from runelift.rewrite.engine.outward import each_body
from runelift.rewrite.engine.pick import names_in
from runelift.rewrite.engine.rule import Rewriting, Rule
from runelift.rewrite.passes.cse import canonical
from runelift.rewrite.rules.fusion import (
    HORIZONTAL,
    VERTICAL,
    alike_together,
    reduce_by_rows,
    with_elements_of,
)
from runelift.rewrite.rules.soac import operands
from runelift.rewrite.rules.unused import may_fail_on_purpose

BESIDE = (ir.Map | ir.Redomap, ir.Scanomap, ir.Scatter, ir.Hist)
"""Kinds of operations that may be fused with another of their kind that reads the same array.

Reductions that the host launches need not read the same array.
"""
ALONE = frozenset({"sequential", "opaque", "nofuse"})
"""Attributes that hold for a whole operation, and so must not spread to another."""


def fuse(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """``program`` with array operations fused wherever that repeats no computation."""
    return each_body(program, _Fuser(rewriting).body)


def fuse_alike(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """``program`` with maps of the host brought together that have array operations in common."""
    return each_body(program, _Fuser(rewriting).alike)


@dataclass(slots=True)
class _Node:
    """A statement of a body in the dependence graph."""

    stm: ir.Stm
    bound: frozenset[VName]
    free: frozenset[VName]
    consumed: frozenset[VName]
    parallel: bool
    """True if an array operation stands inside."""

    @classmethod
    def of(cls, stm: ir.Stm) -> _Node:
        """The node of a statement."""
        return cls(stm, frozenset(p.name for p in stm.pat), frozenset(free_vars(stm)),
                   frozenset(consumed_by(stm)), _parallel_inside(stm.exp))

    def fused_with(self, second: _Node, fused: ir.Stm) -> _Node:
        """The node of ``fused``, which stands for this one and the second."""
        return _Node(fused, frozenset(p.name for p in fused.pat),
                     (self.free | second.free) - self.bound, self.consumed | second.consumed,
                     self.parallel or second.parallel)

    @property
    def width(self) -> Atom | None:
        """The width, if this is an array operation that may be fused."""
        exp = self.stm.exp
        return exp.width if isinstance(exp, ir.SOACS) else None

    @property
    def reduction(self) -> ir.Redomap | None:
        """The operation, if it is a reduction that leaves no array."""
        exp = self.stm.exp
        return exp if isinstance(exp, ir.Redomap) and len(self.stm.pat) == operands(exp) else None


class _Fuser:
    """The state of fusion over a program."""

    def __init__(self, rewriting: Rewriting) -> None:
        self.rewriting = rewriting
        self.defs: dict[VName, ir.Stm] = {}
        self.depth = 0
        """The number of functions around the fused statements; the host launches at depth 0."""

    def lambda_(self, lam: ir.Lambda) -> ir.Lambda:
        self.depth += 1
        body = self.body(lam.body)
        self.depth -= 1
        return lambda_of(lam, lam.params, body, lam.ret)

    def body(self, body: ir.Body) -> ir.Body:
        """Fuse inside of inner bodies, then in the body, and again where that adds to inner
        bodies.
        """
        stms: list[ir.Stm] = []
        for stm in body.stms:
            for param in stm.pat:
                self.defs[param.name] = stm
            stms.append(stm_of(stm, map_inside(stm.exp, self.body, self.lambda_)))
        if sum(isinstance(stm.exp, ir.SOACS) for stm in stms) < 2:
            return body_of(body, stms, body.result)
        graph = _Graph(self, stms, body.result)
        graph.reduce_by_rows()
        graph.fuse_all(VERTICAL)
        if graph.fuse_all(HORIZONTAL):
            graph.fuse_all(VERTICAL)
        return body_of(body, [node.stm for node in graph.nodes], body.result)

    def alike(self, body: ir.Body) -> ir.Body:
        """Bring maps together that have array operations in common."""
        for stm in body.stms:
            self.defs.update((p.name, stm) for p in stm.pat)
        graph = _Graph(self, body.stms, body.result)
        graph.fuse_alike()
        return body_of(body, [node.stm for node in graph.nodes], body.result)

    def roots(self, names: Iterable[VName]) -> set[VName]:
        """The arrays that ``names`` are views of."""
        return {root_of(name, self.defs) for name in names}


class _Graph:
    """The statements of one body, in an order that keeps all dependences."""

    def __init__(self, fuser: _Fuser, stms: Iterable[ir.Stm], result: tuple[Atom, ...]) -> None:
        self.fuser = fuser
        self.nodes = [_Node.of(stm) for stm in stms]
        self.result = result
        self.uses = self._count()

    def _count(self) -> Counter[VName]:
        """The number of statements and results that use each name."""
        uses = Counter(names_in(self.result))
        for node in self.nodes:
            uses.update(node.free)
        return uses

    def reduce_by_rows(self) -> None:
        """Reduce row by row where a reduction flattens the result of a nest of maps."""
        for node in tuple(self.nodes):
            matrices = self._matrices(node)
            if matrices and self.fuser.rewriting.permits(reduce_by_rows):
                stm = reduce_by_rows.apply(node.stm, matrices, self.fuser.rewriting.names)
                self.fuser.rewriting.record(reduce_by_rows, (node.stm,), (stm,))
                self.nodes = [_Node.of(stm) if n is node else n for n in self.nodes
                              if n.bound.isdisjoint(matrices)]
                self.uses = self._count()

    def _matrices(self, node: _Node) -> dict[VName, ir.Param]:
        """The matrices behind the flat arrays that a reduction reads, if it can fuse with them."""
        exp, defs = node.reduction, self.fuser.defs
        if exp is None:
            return {}
        here = {p.name: p for node in self.nodes for p in node.stm.pat}
        found: dict[VName, ir.Param] = {}
        for flat in exp.arrays:
            match defs.get(flat):
                case ir.Stm(_, ir.Reshape((_,), array)) if flat in here and array in here:
                    found[flat] = here[array]
                case _:
                    return {}
            if self.uses[flat] != 1 or self.uses[array] != 1:
                return {}
        makers = {defs[p.name].pat[0].name for p in found.values()}
        return found if len(makers) == 1 and _makes_rows(defs[makers.pop()]) else {}

    def fuse_all(self, rules: tuple[Rule, ...]) -> bool:
        """Fuse from the first statement to the last, each as often as possible; whether any."""
        vertical = rules is VERTICAL
        before, position = len(self.nodes), 0
        while position < len(self.nodes):
            moved = self._fuse_at(position, rules, vertical)
            position = position + 1 if moved is None else moved
        return len(self.nodes) < before

    def fuse_alike(self) -> None:
        """Fuse maps that have array operations in common, and then maps inside of these."""
        position = 0
        while position < len(self.nodes):
            moved = self._fuse_alike(position)
            position = position + 1 if moved is None else moved

    def _fuse_alike(self, position: int) -> int | None:
        """Fuse a map into the node at ``position``; the new position of the fused node, if any."""
        second, fuser = self.nodes[position], self.fuser
        for number in range(position - 1, -1, -1):
            first = self.nodes[number]
            if (first.bound & second.free or not _attributes_agree(first.stm, second.stm)
                    or not _repeats(first.stm.exp, second.stm.exp)
                    or not fuser.rewriting.permits(alike_together)):
                continue
            moved = self._fuse(number, position, alike_together)
            if moved is not None:
                node = self.nodes[moved]
                node.stm = replace(node.stm, exp=map_inside(
                    node.stm.exp, fuser.alike,
                    lambda lam: lambda_of(lam, lam.params, fuser.alike(lam.body), lam.ret)))
                return moved
        return None

    def _fuse_at(self, position: int, rules: tuple[Rule, ...], vertical: bool) -> int | None:
        """Fuse a node into the node at ``position``; the new position of the fused node, if any."""
        second = self.nodes[position]
        width = second.width
        if width is None:
            return None
        for number in range(position - 1, -1, -1):
            first = self.nodes[number]
            if first.width != width:
                continue
            fits = _feeds(first, second) if vertical else self._beside(first, second)
            if not fits or not _attributes_agree(first.stm, second.stm):
                continue
            for rule in rules:
                heads = (type(first.stm.exp), type(second.stm.exp))
                if rule.heads == heads and self.fuser.rewriting.permits(rule):
                    moved = self._fuse(number, position, rule)
                    if moved is not None:
                        return moved
        return None

    def _fuse(self, number: int, position: int, rule: Rule) -> int | None:
        """Replace two nodes by one if the order of the statements between them allows it."""
        first, second = self.nodes[number], self.nodes[position]
        around = self._around(number, position)
        if around is None:
            return None
        needed = frozenset(name for name in first.bound if self.uses[name] > (name in second.free))
        if needed and rule.heads[0] not in (ir.Scatter, ir.Hist) and (
                isinstance(second.stm.exp, ir.Scatter | ir.Hist)):
            return None
        before, after = around
        fused: ir.Stm = rule.apply(first.stm, second.stm, needed)
        self.fuser.rewriting.record(rule, (first.stm, second.stm), (fused,))
        if first.parallel and second.parallel and rule is not alike_together:
            fused = replace(fused, exp=map_inside(fused.exp, self.fuser.body, self.fuser.lambda_))
        for param in fused.pat:
            self.fuser.defs[param.name] = fused
        node = first.fused_with(second, fused)
        self.uses.subtract(first.free)
        self.uses.subtract(second.free)
        self.uses.update(node.free)
        self.nodes[number : position + 1] = [*before, node, *after]
        return number + len(before)

    def _around(self, number: int, position: int) -> tuple[list[_Node], list[_Node]] | None:
        """The statements between two nodes that must come before and after if these are fused."""
        first, second = self.nodes[number], self.nodes[position]
        before: list[_Node] = []
        after: list[_Node] = []
        dependent = set(first.bound)
        for node in self.nodes[number + 1 : position]:
            if node.free & dependent:
                if may_fail_on_purpose(node.stm.exp):
                    return None
                dependent |= node.bound
                after.append(node)
            else:
                before.append(node)
        if second.free & (dependent - first.bound):
            return None
        return None if self._consumed(first, second, before, after) else (before, after)

    def _consumed(self, first: _Node, second: _Node, before: list[_Node],
                  after: list[_Node]) -> bool:
        """True if an array would be read after it is consumed."""
        roots = self.fuser.roots
        early = roots(name for node in before for name in node.consumed)
        late_reads = roots(name for node in after for name in node.free)
        now = roots(second.consumed)
        reads = roots(first.free)
        return bool(reads & early or reads & now or late_reads & early or late_reads & now)

    def _beside(self, first: _Node, second: _Node) -> bool:
        """True if two operations share an array or launches, and are simple enough to be one."""
        one, two = first.stm.exp, second.stm.exp
        if not any(isinstance(one, kind) and isinstance(two, kind) for kind in BESIDE):
            return False
        assert isinstance(one, ir.Soac)
        assert isinstance(two, ir.Soac)
        if first.bound & second.free or not (
            isinstance(one, ir.Map) or isinstance(two, ir.Map) or _scalar_operators(one, two)
        ):
            return False
        if first.parallel or second.parallel:
            return False
        if isinstance(one, ir.Hist) and isinstance(two, ir.Hist) and not _hist_alike(one, two):
            return False
        if self.fuser.depth == 0 and first.reduction and second.reduction:
            return True  # there is a launch less; nothing else could share the elements
        return any(a in two.arrays and not self._is_iota(a) for a in one.arrays)

    def _is_iota(self, name: VName) -> bool:
        made = self.fuser.defs.get(name)
        return made is not None and isinstance(made.exp, ir.Iota)


def _repeats(one: ir.Exp, two: ir.Exp) -> bool:
    """True for maps over one array, of which the second repeats array operations of the first."""
    if not (isinstance(one, ir.Map) and isinstance(two, ir.Map) and one.width == two.width):
        return False
    if set(one.arrays).isdisjoint(two.arrays):
        return False
    first = [stm.exp for stm in one.lam.body.stms if isinstance(stm.exp, ir.SOACS)]
    again = [stm.exp for stm in with_elements_of(one, two).lam.body.stms
             if isinstance(stm.exp, ir.SOACS)]
    known = {canonical(exp) for exp in first}
    return any(canonical(exp) in known for exp in again) or any(
        _repeats(exp, other) for exp in first for other in again)


def _hist_alike(one: ir.Hist, two: ir.Hist) -> bool:
    """True if histograms have the same bins, and both or neither are updated word by word."""
    ops = one.ops + two.ops
    return len({op.bins for op in ops}) == 1 and len({op.op.is_word for op in ops}) == 1


def _makes_rows(maker: ir.Stm) -> bool:
    """True if a statement is a map whose rows are made by array operations."""
    if not isinstance(maker.exp, ir.Map):
        return False
    body = maker.exp.lam.body
    made = {p.name for stm in body.stms if isinstance(stm.exp, ir.Map) for p in stm.pat}
    return made.issuperset(body.result)


def _feeds(first: _Node, second: _Node) -> bool:
    """True if the second operation reads results of the first, and only element by element."""
    one, two = first.stm.exp, second.stm.exp
    if not isinstance(one, ir.Map | ir.Redomap | ir.Scanomap) or not isinstance(two, ir.SOACS):
        return False
    elements = {p.name for p in first.stm.pat[operands(one) :]}
    if not elements & set(two.arrays) or first.bound & _other_uses(two):
        return False
    if not first.bound.isdisjoint(set(two.arrays) - elements):
        return False
    if isinstance(two, ir.Scatter | ir.Hist) and first.parallel:
        return False
    return isinstance(one, ir.Map) or isinstance(two, ir.Map) or _scalar_operators(one, two)


def _attributes_agree(first: ir.Stm, second: ir.Stm) -> bool:
    return not is_stored(first) and not ALONE & (set(first.attrs) ^ set(second.attrs))


def _other_uses(soac: ir.Soac) -> set[VName]:
    """The names that an operation uses other than element by element."""
    used = names_in((soac.width,))
    for lam in lambdas_of(soac):
        used |= free_vars(lam)
    match soac:
        case ir.Redomap(ops=ops) | ir.Scanomap(ops=ops):
            used |= {name for op in ops for name in names_in(op.neutral)}
        case ir.Scatter(dests=dests):
            used |= {d.array for d in dests}
        case ir.Hist(ops=hist_ops):
            for op in hist_ops:
                used |= {*op.dests, *names_in((op.bins, *op.op.neutral))}
    return used


def _scalar_operators(*soacs: ir.Soac) -> bool:
    """True if all operators work on scalars; flattening handles a vector operator only alone."""
    return all(isinstance(type_, Prim)
               for soac in soacs if isinstance(soac, ir.Redomap | ir.Scanomap)
               for op in soac.ops for type_ in op.lam.ret)


def _parallel_inside(exp: ir.Exp) -> bool:
    """True if an array operation stands in a body or lambda of ``exp``."""
    return any(isinstance(stm.exp, ir.SOACS) or _parallel_inside(stm.exp)
               for body in bodies_inside(exp) for stm in body.stms)
