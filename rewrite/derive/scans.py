"""Derivatives of scans."""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Sequence

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import substitute_body
from runelift.ir.types import Atom, Const, elem_of, i64, zero
from runelift.rewrite.derive.operators import is_plain, is_plain_sum
from runelift.rewrite.derive.reductions import beside, scanned
from runelift.rewrite.derive.walk import Back, Forward, Reverse, forward, transposed
from runelift.rewrite.engine.pick import pick
from runelift.rewrite.engine.rule import rule


@forward(ir.Scanomap, provided=is_plain_sum)
def forward_scan_sum(walk: Forward, stm: ir.Stm, exp: ir.Scanomap) -> None:
    """ys = scan (+) 0 xs ⇒ ẏs = scan (+) 0 ẋs

    Because: a sum is linear.
    """
    walk.emit.add(stm)
    op = walk.emit.again(exp.ops[0])
    (walk.tan[stm.pat[0].name],) = scanned(walk.emit, op, [walk.array(exp.arrays[0])])


@transposed(ir.Scanomap, provided=is_plain_sum)
def reverse_scan_sum(walk: Reverse, stm: ir.Stm, exp: ir.Scanomap, adjoint: VName) -> None:
    """ys = scan (+) 0 xs ⇒ x̄s += reverse (scan (+) 0 (reverse ȳs))

    Because: element i is part of all results from i on.
    """
    op = walk.emit.again(exp.ops[0])
    (sums,) = scanned(walk.emit, op, [walk.emit.reversed(adjoint)])
    walk.add(exp.arrays[0], walk.emit.reversed(sums))


@rule(ir.Scanomap)
def reverse_scan(walk: Reverse, stm: ir.Stm, exp: ir.Scanomap) -> Back | None:
    """ys = scan ⊕ e xs ⇒ rᵢ = ȳᵢ + (∂₁(yᵢ ⊕ xᵢ₊₁))ᵀ rᵢ₊₁, x̄ᵢ += (∂₂(yᵢ₋₁ ⊕ xᵢ))ᵀ rᵢ

    Provided: elements are scalars of one type as far as they vary together, and the operator has
    no varying free names.
    Because: r is a scan of linear functions from the right.  Parts of elements that the Jacobian
    does not join are scanned apart, or with one matrix if their Jacobians are equal.
    Source: Paszke et al. 2021, "Parallelism-preserving automatic differentiation".
    """
    op = exp.ops[0]
    active = [walk.varies(p.name) for p in stm.pat]
    types = set(pick(op.lam.ret, active))
    if not (is_plain(exp) and walk.is_scalar(op) and len(types) == 1 and Prim.BOOL not in types):
        return None
    walk.emit.add(stm)

    def back() -> None:
        seeds = [walk.take(p.name) for p in stm.pat]
        _Returned(walk, exp, [p.name for p in stm.pat], active).run(seeds)

    return back


class _Returned:
    """The return sweep of a scan."""

    def __init__(self, walk: Reverse, exp: ir.Scanomap, ys: Sequence[VName],
                 active: Sequence[bool]) -> None:
        self.walk, self.emit, self.exp, self.ys, self.active = walk, walk.emit, exp, ys, active
        self.op = exp.ops[0]
        self.parts = [k for k, has in enumerate(active) if has]
        self.last = self.emit.size_op("sub", exp.width, i64(1))

    def run(self, seeds: Sequence[Atom | None]) -> None:
        """Append the sums from the right, and the adjoints of the inputs."""
        emit = self.emit
        adjoints = {k: emit.name(emit.or_zeros(seeds[k], emit.types[self.ys[k]]))
                    for k in self.parts}
        places: dict[tuple[int, int], int] = {}
        factors = self._factors(places)
        totals: dict[int, VName] = {}
        alike: dict[tuple[int | None, ...], list[list[int]]] = {}
        for block in _blocks(self.parts, places):
            alike.setdefault(tuple(places.get((k, j)) for j in block for k in block), []
                             ).append(block)
        for matrix, blocks in alike.items():
            totals |= self._sums(blocks, adjoints, [
                None if place is None else factors[place] for place in matrix])
        self._inputs([totals[k] for k in self.parts])

    def _factors(self, places: dict[tuple[int, int], int]) -> tuple[VName, ...]:
        """The parts of the Jacobian that are not zero, of the operator at each place."""
        emit = self.emit

        def element(i: VName, *ys: VName) -> list[Atom]:
            there = emit.size_op("min", emit.size_op("add", i, i64(1)), self.last)
            xs = [emit.index(a, there) for a in self.exp.arrays]
            found: list[Atom] = []
            for j in self.parts:
                for k, tangent in zip(self.parts, self._column(j, [*ys, *xs]), strict=True):
                    if tangent is not None and tangent not in found:
                        found.append(tangent)
                    if tangent is not None:
                        places[k, j] = found.index(tangent)
            return found or [i]

        return emit.map([emit.counting(self.exp.width), *self.ys], element, "factors")

    def _column(self, j: int, args: Sequence[VName]) -> list[Atom | None]:
        """The tangents of the operator's results by its left operand ``j``."""
        walk, emit = self.walk.forward(), self.emit
        lam = emit.copied(self.op.lam)
        prim = elem_of(lam.params[j].type)
        given = dict(zip((p.name for p in lam.params), args, strict=True))
        body = substitute_body(lam.body, given)  # so that equal parts are equal atoms
        walk.tan[args[j]] = Const(1.0 if prim.is_float else 1, prim)
        walk.statements(body.stms)
        return [walk.tangent(body.result[k]) for k in self.parts]

    def _sums(self, blocks: Sequence[Sequence[int]], adjoints: dict[int, VName],
              matrix: Sequence[VName | None]) -> dict[int, VName]:
        """The sums from the right of the parts in blocks, which have one matrix in common."""
        emit, size = self.emit, len(blocks[0])
        parts = [k for block in blocks for k in block]
        if not any(matrix):
            return {k: adjoints[k] for k in parts}
        prim = elem_of(emit.types[adjoints[parts[0]]])
        one = Const(1.0 if prim.is_float else 1, prim)
        zeros = emit.name(emit.zeros(emit.types[adjoints[parts[0]]]))

        def compose(*values: VName) -> list[Atom]:
            half = len(values) // 2
            first, second = _Linear(values[:half], size), _Linear(values[half:], size)
            constants = [self._dot([old, *(emit.op("mul", prim, second.matrix[r][c], given[c])
                                           for c in range(size))], prim)
                         for given, kept in zip(first.constants, second.constants, strict=True)
                         for r, old in enumerate(kept)]
            product = [self._dot([emit.op("mul", prim, second.matrix[r][m], first.matrix[m][c])
                                  for m in range(size)], prim)
                       for r in range(size) for c in range(size)]
            return [*constants, *product]

        lam = emit.lam([prim] * (2 * (len(parts) + size * size)), compose)
        neutral = [zero(prim)] * len(parts) + [one if r == c else zero(prim)
                                               for r in range(size) for c in range(size)]
        arrays = [*(adjoints[k] for k in parts), *(zeros if m is None else m for m in matrix)]
        sums = scanned(emit, ir.Operator(lam, tuple(neutral)), [emit.reversed(a) for a in arrays])
        return {k: emit.reversed(name) for k, name in zip(parts, sums, strict=False)}

    def _dot(self, terms: Sequence[Atom], prim: Prim) -> Atom:
        total = terms[0]
        for term in terms[1:]:
            total = self.emit.op("add", prim, total, term)
        return total

    def _inputs(self, totals: Sequence[VName]) -> None:
        """Add to the adjoints of the inputs, by the second operand of the operator."""
        walk, emit, arrays = self.walk, self.emit, self.exp.arrays
        count = len(arrays)
        active = [*[False] * count, *map(walk.varies, arrays)]

        def element(i: VName, *rows: VName) -> list[Atom]:
            xs, given = rows[:count], iter(rows[count:])
            seeds = [next(given) if has else None for has in self.active]
            before = emit.size_op("sub", i, i64(1))
            left = beside(emit, before, before, self.ys, self.op.neutral)
            return walk.applied(self.op.lam, (*left, *xs), seeds, active)

        walk.add_each(arrays, emit.map([emit.counting(self.exp.width), *arrays, *totals], element,
                                       "adjs"))


class _Linear:
    """Linear functions of vectors: a constant for each, and their matrix."""

    def __init__(self, values: Sequence[VName], size: int) -> None:
        front = len(values) - size * size
        self.constants = [values[k:k + size] for k in range(0, front, size)]
        self.matrix = [values[k:k + size] for k in range(front, len(values), size)]


def _blocks(parts: Sequence[int], pairs: dict[tuple[int, int], int]) -> list[list[int]]:
    """The parts that pairs join, in groups."""
    groups = {k: [k] for k in parts}
    for k, j in pairs:
        if groups[k] is not groups[j]:
            joined = sorted([*groups[k], *groups[j]])
            groups |= dict.fromkeys(joined, joined)
    return [group for k, group in groups.items() if group[0] == k]
