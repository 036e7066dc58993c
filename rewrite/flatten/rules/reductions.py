"""Reductions and scans: rules G1, G4 and G9."""

from __future__ import annotations

from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.guards import Kind
from runelift.ir.names import VName
from runelift.ir.operators import identity, is_identity
from runelift.ir.traverse import free_vars
from runelift.ir.types import Atom, array_of, as_name, i64, row_of, shape_of
from runelift.rewrite.engine.columns import columns_of, transposition, virtual_outside
from runelift.rewrite.engine.scope import whole
from runelift.rewrite.flatten.book import Unlike, flattening
from runelift.rewrite.flatten.nest import Nest, show_nest
from runelift.rewrite.flatten.parallelism import (
    called_in,
    has_parallelism,
    is_cheap,
    scalar_operator,
)
from runelift.rewrite.flatten.policy import Candidates, obey_attributes
from runelift.rewrite.flatten.rules.common import (
    emit_with_nest,
    enter,
    irregular,
    split_lambda,
    transposed,
)
from runelift.rewrite.flatten.rules.maps import emit_versions, single_version
from runelift.rewrite.flatten.walk import CHEAP_CHAIN, Walk


@flattening("G4", ir.Redomap, ir.Scanomap)
def vector_operator_interchange(walk: Walk, stm: ir.Stm, given: ir.Fold) -> str | None:
    """Σ ⊢ redomap (map ⊕) (replicate k e) (λx → map f ys) xs
    ⇒ Σ ⊢ map (λy → redomap ⊕ e (λx → f y) xs) ys

    The vectors are never stored.  Where ys is x, a row of xs, y is a column and x its element.
    The map may follow cheap arithmetic, and iotas and replicates, which go outside.  The rule also
    takes scan, whose result is transposed back.  Nested vectors take one dimension at a time.
    """
    virtual, rest = virtual_outside(given.lam.body, given.lam.params)
    soac = replace(given, lam=replace(given.lam, body=rest))
    inner = soac.ops[0].vector if len(soac.ops) == 1 else None
    made = _rows_made(walk, soac, inner) if inner else None
    if inner is None or made is None:
        return Unlike("its operator is no map over vectors that a map makes")
    if any(not walk.invariant(a) for a in (soac.width, inner.width)):
        return "the vectors have another length at each point of the nest"
    flattener = walk.flattener
    for each in virtual:
        flattener.learn_params(each.pat)
        walk.statement(each)
    neutral = tuple(element_of_replicate(walk, atom) for atom in soac.ops[0].neutral)
    # The attribute means the map of the operator, which is the outer one from here on.
    attrs = tuple(a for a in stm.attrs if a != "sequential_inner")

    def column(array: VName) -> tuple[VName, ir.Param]:
        whole_array = transposed(walk, array, stm.loc)
        return whole_array.name, flattener.fresh("column", row_of(whole_array.type))

    turned = columns_of(soac, made, column)
    folded = tuple(flattener.fresh(p.name, row_of(p.type) if isinstance(soac, ir.Redomap)
                         else array_of((soac.width,), row_of(p.type, 2)))
                   for p in stm.pat)
    operator = ir.Operator(inner.lam, neutral, soac.ops[0].comm)
    fold = type(soac)(soac.width, (operator,), turned.lam, turned.inputs)
    column_lam = ir.Lambda(turned.params, ir.Body((ir.Stm(folded, fold, attrs, stm.loc),),
                              tuple(p.name for p in folded)), tuple(p.type for p in folded))
    flattener.learn_lambda(column_lam)
    flattener.derivation.fired("G4", stm, "the map of the operator goes outside")
    nested = ir.Map(inner.width, column_lam, turned.arrays)
    with flattener.derivation.inside():
        if isinstance(soac, ir.Redomap):
            walk.statement(ir.Stm(stm.pat, nested, attrs, stm.loc))
            return None
        rows = tuple(flattener.fresh(p.name, array_of((inner.width,), f.type))
                     for p, f in zip(stm.pat, folded, strict=True))
        walk.need(p.name for p in rows)
        walk.statement(ir.Stm(rows, nested, attrs, stm.loc))
        for param, row in zip(stm.pat, rows, strict=True):
            walk.statement(ir.Stm((param,), transposition(row.name, row.type), loc=stm.loc))
    return None


def _rows_made(walk: Walk, soac: ir.Fold, operator: ir.Map) -> ir.Map | None:
    """The map at the end of the lambda of ``soac`` that makes the vectors of ``operator``.

    None if something else makes them, or if what stands before the map is not worth repeating
    for each element of a vector.
    """
    lam = soac.lam
    if len(lam.ret) != len(soac.ops[0].neutral):  # some are results of their own
        return None
    if not lam.body.stms:  # the vectors are there: rows, or the same ones each time
        element = identity(tuple(walk.fresh("x", row_of(type_)) for type_ in lam.ret))
        return ir.Map(operator.width, element, tuple(map(as_name, lam.body.result)))
    *before, last = lam.body.stms
    bound = {p.name for s in before for p in s.pat}
    match last.exp:
        case ir.Map(width, arrays=arrays) as made if (
            width == operator.width and not bound.intersection(arrays)
            and lam.body.result == tuple(p.name for p in last.pat)
            and "sequential" not in last.attrs
            and all(is_cheap(s.exp) for s in before) and len(before) <= CHEAP_CHAIN
        ):
            return made
    return None


def element_of_replicate(walk: Walk, neutral: Atom) -> Atom:
    """An element of the neutral array of a vectorised operator; they are all equal."""
    assert isinstance(neutral, VName)
    definition = walk.nest.defs.get(neutral) or walk.flattener.host_defs.get(neutral)
    if definition is not None and isinstance(definition.exp, ir.Replicate):
        shape, value = definition.exp.shape, definition.exp.value
        if len(shape) == 1:
            return value
    type_ = walk.flattener.types[neutral]
    element = walk.fresh("neutral", row_of(type_))
    if definition is not None and isinstance(definition.exp, ir.Replicate):
        walk.statement(ir.Stm((element,),
                              ir.Replicate(definition.exp.shape[1:], definition.exp.value)))
    else:
        dims: tuple[ir.Dim, ...] = (i64(0), *map(whole, shape_of(element.type)))
        walk.statement(ir.Stm((element,), ir.Index(neutral, dims)))
    return element.name


@flattening("G9", ir.Redomap, ir.Scanomap)
def redomap_with_inner_parallelism(walk: Walk, stm: ir.Stm, soac: ir.Fold
                                   ) -> str | None:
    """Σ ⊢ redomap ⊕ e f xs ⇒ if t ≤ Par(Σ, ⟨x ∈ xs⟩) then segred (Σ, ⟨x ∈ xs⟩) ⊕ e f
                            else (Σ ⊢ reduce ⊕ e (map f xs))

    Provided f has parallelism.  The rule also takes scans.  An operator over arrays that G4 cannot
    interchange takes the second side without a guard.
    """
    if is_identity(soac.lam):
        return Unlike("it has no map part")
    scalar = all(scalar_operator(op) for op in soac.ops)
    parallel = has_parallelism(soac.lam.body) and "sequential_inner" not in stm.attrs
    if scalar and not parallel:
        return Unlike("its map part has no parallelism")
    if why := irregular(walk, stm):
        return why
    flattener, derivation = walk.flattener, walk.flattener.derivation
    if (scalar and walk.level is ir.Level.LOCAL and flattener.within is Kind.OUTER
            and not operator_needs_nest(walk, soac.ops)):
        flattener.alone = True
        return _alone(walk, stm, soac)
    if not scalar or walk.level is ir.Level.LOCAL or operator_needs_nest(
            walk, soac.ops) or called_in(soac.lam.body):
        map_first(walk, stm, "G9", "reduction")
        return None
    kinds = obey_attributes(stm, frozenset({Kind.REDOMAP, Kind.FLAT}))
    kinds = flattener.policy(Candidates(stm, soac.lam.body, kinds))
    if why := walk.prepare(stm):
        return why
    derivation.fired("G9", stm, "versions of the map part")
    site = flattener.site()
    nest = enter(walk, soac.width, soac.lam, soac.arrays)
    host = walk.expanded_pat(stm.pat)
    alternatives: list[ir.Version] = []
    if Kind.REDOMAP in kinds:
        segop = _segmented(walk, nest, soac)
        guard = flattener.guard(stm, Kind.REDOMAP, len(nest.space), nest.par)
        alternatives.append(ir.Version(guard, Kind.REDOMAP, single_version(walk, host, segop, stm)))
    if Kind.FLAT in kinds:
        copy = flattener.copy_body(ir.Body((stm,), tuple(p.name for p in stm.pat)))
        with derivation.inside():
            split = ir.Body(tuple(split_map(walk, copy.stms[0])), copy.result)
            flat, _ = flattener.body(walk.nest, split)
        alternatives.append(ir.Version(None, Kind.FLAT, flat))
    emit_versions(walk, stm, host, site, alternatives)
    walk.bind(stm.pat, host)
    return None


def _alone(walk: Walk, stm: ir.Stm, soac: ir.Fold) -> str | None:
    """One segmented operation, whose map part is sequential."""
    if why := walk.prepare(stm):
        return why
    nest = enter(walk, soac.width, soac.lam, soac.arrays)
    walk.flattener.derivation.fired(
        "G9", stm, f"inside a group: a work-item per point of {show_nest(nest)}")
    emit_with_nest(walk, stm, nest, _segmented(walk, nest, soac))
    return None


def map_first(walk: Walk, stm: ir.Stm, rule: str, what: str) -> None:
    """Flatten a redomap or scanomap as a map and ``what``, a plain reduce or scan, by a rule."""
    walk.flattener.derivation.fired(rule, stm, f"split into a map and a {what}")
    with walk.flattener.derivation.inside():
        for part in split_map(walk, stm):
            walk.need(p.name for p in part.pat)
            walk.statement(part)


def split_map(walk: Walk, stm: ir.Stm) -> list[ir.Stm]:
    """A redomap or scanomap as a map and a plain reduce or scan of its results."""
    soac = stm.exp
    assert isinstance(soac, ir.Fold)
    count = sum(len(op.neutral) for op in soac.ops)
    element, mapped = split_lambda(walk, stm, soac, stm.pat[count:])
    fold = type(soac)(soac.width, soac.ops, element, tuple(p.name for p in mapped.pat[:count]))
    return [mapped, ir.Stm(stm.pat[:count], fold, stm.attrs, stm.loc)]


@flattening("G1", ir.Redomap, ir.Scanomap)
def reduction_without_inner_parallelism(walk: Walk, stm: ir.Stm, soac: ir.Fold
                                        ) -> str | None:
    """Σ ⊢ redomap ⊕ e f xs ⇒ segred (Σ, ⟨x ∈ xs⟩) ⊕ e f      f has no parallelism

    A scan becomes a segscan.  Provided ⊕ and e do not depend on the point of Σ.
    """
    if why := irregular(walk, stm):
        return why
    if not all(scalar_operator(op) for op in soac.ops):
        return "its operator works on arrays and is not a map"
    if why := operator_needs_nest(walk, soac.ops) or walk.prepare(stm):
        return why
    nest = enter(walk, soac.width, soac.lam, soac.arrays)
    name = "segred" if isinstance(soac, ir.Redomap) else "segscan"
    walk.flattener.derivation.fired("G1", stm, f"{name} over {show_nest(nest)}")
    emit_with_nest(walk, stm, nest, _segmented(walk, nest, soac))
    return None


def _segmented(walk: Walk, nest: Nest, soac: ir.Fold) -> ir.SegRed | ir.SegScan:
    space, body = walk.kernel(nest, soac.lam.body.stms, soac.lam.body.result)
    ops = walk.flattener.copy_operators(soac.ops)
    node = ir.SegRed if isinstance(soac, ir.Redomap) else ir.SegScan
    return node(walk.level, space, ops, body, soac.lam.ret)


def operator_needs_nest(walk: Walk, ops: tuple[ir.Operator, ...]) -> str | None:
    """The reason why the operators cannot run outside of Σ, if any."""
    for op in ops:
        for name in (*free_vars(op.lam), *(a for a in op.neutral if isinstance(a, VName))):
            if not walk.invariant(name):
                return f"its operator uses '{name.base}', which differs between points of the nest"
    return None
