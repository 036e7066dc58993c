"""Parallelism and its worth: the predicates that guide flattening."""

from __future__ import annotations

from collections.abc import Iterator

from runelift.ir import syntax as ir
from runelift.ir.base.by_identity import by_identity
from runelift.ir.names import VName
from runelift.ir.prim import FLOATS, OPS, Prim
from runelift.ir.sizes import Size, least, product
from runelift.ir.traverse import bodies_inside, bodies_of, lambdas_of, size_of, statements_inside
from runelift.ir.types import Atom, Const, elem_of

INTRA_WIDTH = 32
"""Constant widths below this are not worth the work-items of a group (Futhark's figure)."""


CHEAP_OPS = frozenset(OPS) - {
    name for name, op in OPS.items() if not op.predicate and set(op.domain) <= set(FLOATS)
} - {"pow"}
"""Operations that cost less to repeat than to store and load."""


def is_cheap(exp: ir.Exp) -> bool:
    """True if ``exp`` costs less to repeat than to store and load: arithmetic and views."""
    match exp:
        case ir.PrimOp(op=op):
            return op in CHEAP_OPS
        case (ir.AtomExp() | ir.Convert() | ir.Index() | ir.Rearrange() | ir.Reshape()
              | ir.Slide() | ir.Pad()
              | ir.Iota() | ir.Replicate() | ir.Copy() | ir.SegmentLength()):
            return True
    return False


@by_identity
def has_parallelism(body: ir.Body) -> bool:
    """True if a SOAC that may run in parallel stands in ``body``, also inside its control flow."""
    return any(is_parallel(stm) for stm in body.stms)


def is_parallel(stm: ir.Stm) -> bool:
    """True if ``stm`` is a parallel SOAC or a call, or a loop or branch that contains one."""
    if "sequential" in stm.attrs:
        return False
    match stm.exp:
        case (ir.Map() | ir.Redomap() | ir.Scanomap() | ir.Scatter() | ir.Hist()
              | ir.Accumulate()):
            return True
        case ir.Call() | ir.Recursion():  # kernels never recurse
            return True
        case ir.Loop(body=body):
            return has_parallelism(body)
        case ir.If(then_=then_, else_=else_):
            return has_parallelism(then_) or has_parallelism(else_)
        case ir.Versions(alternatives=alternatives):
            return any(has_parallelism(version.body) for version in alternatives)
    return False


def has_own_widths(stm: ir.Stm) -> bool:
    """True if an operation inside of ``stm`` has a width that is bound inside, too."""
    inside = list(statements_inside(bodies_inside(stm.exp)))
    bound = {p.name for each in inside for p in each.pat} | {
        p.name for lam in lambdas_of(stm.exp) for p in lam.params}
    return any(isinstance(each.exp, ir.SOACS) and each.exp.width in bound for each in inside)


@by_identity
def called_in(body: ir.Body) -> VName | None:
    """A function that calls itself, and that a body applies."""
    for stm in body.stms:
        if isinstance(stm.exp, ir.Call | ir.Recursion):
            return stm.exp.function
        for inner in bodies_inside(stm.exp):
            if (found := called_in(inner)) is not None:
                return found
    return None


def is_perfect_nest(body: ir.Body) -> bool:
    """True if ``body`` consists of maps nested in each other, with only cheap scalar code between.

    No loop is in it, and no other parallel operation.
    """
    parallel = [stm for stm in body.stms if is_parallel(stm)]
    if not parallel:
        return not any(_has_loops(stm) for stm in body.stms)
    match parallel:
        case [ir.Stm(pat, ir.Map(lam=lam))]:
            return set(body.result) <= {p.name for p in pat} and is_perfect_nest(lam.body) and all(
                stm is parallel[0] or is_cheap(stm.exp) for stm in body.stms)
    return False


def only_moves(body: ir.Body) -> bool:
    """True if ``body`` computes nothing but indices: maps in it make elements of other arrays."""
    for stm in body.stms:
        match stm.exp:
            case ir.Map(lam=lam):
                if not only_moves(lam.body):
                    return False
            case ir.PrimOp(prim=Prim.I64):
                pass
            case exp if isinstance(exp, ir.PrimOp | ir.Convert) or not is_cheap(exp):
                return False
    return True


def perfect_chain(body: ir.Body) -> tuple[ir.Stm, ...]:
    """The loops of a perfect nest, outermost first; empty for other bodies.

    It has maps, of which the last may contain a reduction or scan, and cheap code around them.
    """
    parallel = [stm for stm in body.stms if is_parallel(stm)]
    if len(parallel) != 1 or not all(stm is parallel[0] or is_cheap(stm.exp) for stm in body.stms):
        return ()
    (stm,) = parallel
    if not set(body.result) <= {p.name for p in stm.pat} or any(
            attr.startswith("sequential") for attr in stm.attrs):
        return ()
    match stm.exp:
        case ir.Map(lam=lam) | ir.Redomap(lam=lam) | ir.Scanomap(lam=lam):
            if not has_parallelism(lam.body):
                return (stm,)
            inside = perfect_chain(lam.body) if isinstance(stm.exp, ir.Map) else ()
            return (stm, *inside) if inside else ()
    return ()


def _has_loops(stm: ir.Stm) -> bool:
    """True if a statement contains a loop, sequential or parallel."""
    return isinstance(stm.exp, (ir.Loop, *ir.SOACS)) or any(
        _has_loops(inside) for body in bodies_of(stm.exp) for inside in body.stms)


def scalar_operator(op: ir.Operator) -> bool:
    """True if the operator works on values of primitive type."""
    return all(isinstance(type_, Prim) for type_ in op.lam.ret)


def is_atomic(op: ir.Operator) -> bool:
    """True if an atomic update of one word performs the operator."""
    return len(op.lam.ret) == 1 and scalar_operator(op) and elem_of(op.lam.ret[0]).bits >= 32


def segops(body: ir.Body) -> Iterator[ir.SegOp]:
    """The segmented operations in ``body``, also inside control flow."""
    for stm in body.stms:
        if isinstance(stm.exp, ir.SEGOPS):
            yield stm.exp
        elif isinstance(stm.exp, ir.Loop | ir.If):
            for inner in bodies_of(stm.exp):
                yield from segops(inner)


def segop_spaces(body: ir.Body) -> Iterator[ir.Space]:
    """The index spaces of the segmented operations in a body."""
    return (segop.space for segop in segops(body))


def points_of_group(groups: ir.SegMap) -> Size:
    """The points of the smallest operation of a work-group."""
    return least(*(product([size_of(dim.width) for dim in segop.space])
                   for segop in segops(groups.body)))


def worth_sequentialising(body: ir.Body, depth: int = 0) -> int:
    """A score for running ``body`` in one work-item; above 1 an outer version pays.

    Futhark's heuristic (spec B.3): redomaps keep partial results in registers, loops keep their
    state, while loops and branches gain nothing.
    """
    return sum(_outer_score(stm, depth) for stm in body.stms)


def worth_intragroup(body: ir.Body) -> int:
    """A score for sharing ``body`` within a work-group; above 1 an intra version pays."""
    return sum(_intra_score(stm) for stm in body.stms)


def _outer_score(stm: ir.Stm, depth: int) -> int:
    if "sequential" in stm.attrs:
        return 0
    match stm.exp:
        case ir.Map(lam=lam):
            inner = "sequential_inner" in stm.attrs
            return 0 if inner else worth_sequentialising(lam.body, depth + 1)
        case (ir.Redomap(lam=lam) | ir.Scanomap(lam=lam) | ir.Scatter(lam=lam) | ir.Hist(lam=lam)
              | ir.Accumulate(lam=lam)):
            redomap = isinstance(stm.exp, ir.Redomap) and depth == 0
            return 1 + worth_sequentialising(lam.body, depth + 1) + redomap
        case ir.Loop(form=ir.ForLoop(), body=body):
            return 10 * worth_sequentialising(body, depth + 1)
    return 0


def _intra_score(stm: ir.Stm) -> int:
    if "sequential" in stm.attrs:
        return 0
    match stm.exp:
        case ir.Map(width, lam):
            if "sequential_inner" in stm.attrs:
                return 0
            return max(_wide(width), worth_intragroup(lam.body))
        case (ir.Redomap(width, lam=lam) | ir.Scanomap(width, lam=lam)
              | ir.Scatter(width, lam=lam) | ir.Hist(width, lam=lam)):
            return _wide(width) + worth_intragroup(lam.body)
        case ir.Loop(body=body):
            return 10 * worth_intragroup(body)
        case ir.If(then_=then_, else_=else_):
            return max(worth_intragroup(then_), worth_intragroup(else_))
    return 0


def _wide(width: Atom) -> int:
    return 0 if isinstance(width, Const) and int(width.value) < INTRA_WIDTH else 1
