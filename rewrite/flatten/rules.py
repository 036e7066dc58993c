r"""The rules of incremental flattening, G0 to G9.

Each rule is one function.  Its docstring is the inference rule: ``Σ ⊢ e ⇒ s`` reads "under the
map nest Σ, the expression e becomes the host statements s".  It returns None when it fired,
else the reason why it did not (empty if there is nothing to say).  G6, distribution, is the
walk itself (:mod:`~runelift.rewrite.flatten.walk`), and G0 and G1 are how the walk makes
kernels of what the other rules leave.

Source: Henriksen et al., Incremental Flattening for Nested Data Parallelism, PPoPP 2019,
section 3, with the implementation's extensions (spec B.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar

from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import greatest, least, product
from runelift.ir.syntax import (
    Assert,
    Atom,
    AtomExp,
    Body,
    Concat,
    Const,
    Dest,
    Dim,
    Exp,
    ForLoop,
    Guard,
    Hist,
    HistOp,
    If,
    Index,
    Kind,
    Lambda,
    Level,
    Loop,
    LoopParam,
    Map,
    Operator,
    Param,
    PrimOp,
    Rearrange,
    Redomap,
    Replicate,
    Reshape,
    Scanomap,
    Scatter,
    SegDim,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    SegScatter,
    SliceDim,
    Stm,
    Type,
    Update,
    Version,
    Versions,
    array_of,
    i64,
    row_of,
    shape_of,
)
from runelift.ir.traverse import free_vars
from runelift.rewrite.flatten.flattener import FlatteningRule, describe
from runelift.rewrite.flatten.nest import Nest, is_whole, size_of, whole
from runelift.rewrite.flatten.parallelism import (
    SOACS,
    has_parallelism,
    is_identity,
    scalar_operator,
    segop_spaces,
    vector_operator,
)
from runelift.rewrite.flatten.policy import Candidates, obey_attributes
from runelift.rewrite.flatten.walk import Walk

Node = TypeVar("Node")
Apply: TypeAlias = Callable[[Walk, Stm], "str | None"]


FLATTENING: list[FlatteningRule] = []
"""The rule book, in the order in which rules are tried on a statement."""


def flattening(name: str, *heads: type) -> Callable[[Apply], FlatteningRule]:
    """Add a rule to the book, tried on statements whose expression is one of ``heads``."""

    def make(apply: Apply) -> FlatteningRule:
        rule = FlatteningRule(name, apply.__name__, (apply.__doc__ or "").strip(), heads, apply)
        FLATTENING.append(rule)
        return rule

    return make


# Sequential code


@flattening("sequential", *SOACS, Loop)
def sequential_at_top(walk: Walk, stm: Stm) -> str | None:
    """∅ ⊢ e ⇒ segmap ⟨_ < 1⟩ e      e has no parallelism that a rule could use

    One work-item runs it, so that its scalar steps are not launches of their own.  Loops over
    scalars alone stay where they are: their results may be sizes.
    """
    if walk.nest.space:
        return ""
    if isinstance(stm.exp, Loop):
        parallel = has_parallelism(Body((stm,), ()))
        if parallel or walk.level is Level.LOCAL or not _touches_arrays(stm):
            return ""
    elif not _must_be_sequential(stm):
        return ""
    if not all(isinstance(p.type, Prim) or _known(p.type, stm) for p in stm.pat):
        return "a size of its result is known only when it has run"
    dim = SegDim(walk.flattener.names.fresh("one"), i64(1))
    result = tuple(p.name for p in stm.pat)
    host = tuple(Param(walk.flattener.names.fresh(p.name), array_of((i64(1),), p.type))
                 for p in stm.pat)
    kernel = walk.segmap((dim,), Body((stm,), result), tuple(p.type for p in stm.pat))
    walk.flattener.derivation.fired("sequential", describe(stm), "one work-item", stm.loc)
    walk.emit(Stm(host, kernel, stm.attrs, stm.loc))
    for param, array in zip(stm.pat, host, strict=True):
        walk.emit(Stm((param,), Index(array.name, (i64(0), *map(whole, shape_of(param.type)))),
                      loc=stm.loc))
    return None


def _touches_arrays(stm: Stm) -> bool:
    """Whether any statement inside reads or makes an array."""
    bodies = _inner_bodies(stm.exp)
    return any(isinstance(inner.exp, Index | Update | Concat | Replicate | Scatter | Hist)
               or any(not isinstance(p.type, Prim) for p in inner.pat)
               or _touches_arrays(inner) for body in bodies for inner in body.stms)


def _inner_bodies(exp: Exp) -> tuple[Body, ...]:
    match exp:
        case Loop(body=body):
            return (body,)
        case If(then_=then_, else_=else_):
            return (then_, else_)
    return ()


def _must_be_sequential(stm: Stm) -> bool:
    """Whether a SOAC has an operator that no segmented operation can run."""
    if "sequential" in stm.attrs:
        return True
    match stm.exp:
        case Redomap(ops=ops, lam=lam) | Scanomap(ops=ops, lam=lam):
            odd = [op for op in ops if not scalar_operator(op)]
            return bool(odd) and is_identity(lam) and not (
                len(ops) == 1 and vector_operator(ops[0]))
        case Hist(ops=ops):
            return any(not scalar_operator(op.op) for op in ops)
    return False


def _known(type_: Type, stm: Stm) -> bool:
    bound = {p.name for p in stm.pat}
    return all(size not in bound for size in shape_of(type_))


# Maps


@flattening("G2", Map)
def map_without_inner_parallelism(walk: Walk, stm: Stm) -> str | None:
    """Σ ⊢ map (λx → e) xs ⇒ segmap (Σ, ⟨x ∈ xs⟩) e      e has no parallelism"""
    soac = _exp(stm, Map)
    if why := _irregular(walk, stm):
        return why
    if has_parallelism(soac.lam.body) and "sequential_inner" not in stm.attrs:
        return ""
    if why := walk.prepare(stm):
        return why
    nest = _enter(walk, soac.width, soac.lam, soac.arrays)
    walk.flattener.derivation.fired("G2", describe(stm), f"a work-item per point of {_show(nest)}",
                                    stm.loc)
    _emit_with_nest(walk, stm, nest, _outer(walk, nest, soac.lam))
    return None


@flattening("G3", Map)
def map_with_inner_parallelism(walk: Walk, stm: Stm) -> str | None:
    """Σ ⊢ map (λx → e) xs ⇒ if t_top ≤ Par(Σ') then segmap Σ' e
                            else if t_intra ≤ Par(e) then segmap^group Σ' (∅ ⊢_local e)
                            else (Σ' ⊢ e)

    Provided e has parallelism; Σ' = Σ, ⟨x ∈ xs⟩.  The three bodies are e_top, e_middle and
    e_flat of the paper.  A candidate that would be no different from another, or that is
    irregular, is not built; the policy may drop others.
    """
    soac = _exp(stm, Map)
    if why := _irregular(walk, stm):
        return why
    if why := walk.prepare(stm):
        return why
    flattener, derivation = walk.flattener, walk.flattener.derivation
    nest = _enter(walk, soac.width, soac.lam, soac.arrays)
    if walk.level is Level.LOCAL:
        derivation.fired("G3", describe(stm), "inside a group: the flat version only", stm.loc)
        return _descend(walk, stm, nest, soac.lam)
    kinds = frozenset({Kind.OUTER, Kind.INTRA, Kind.FLAT})
    kinds = flattener.policy(Candidates(stm, soac.lam.body, obey_attributes(stm, kinds)))
    derivation.fired("G3", describe(stm), f"versions over {_show(nest)}", stm.loc)
    site = flattener.site()
    with derivation.inside():
        outer = _outer(walk, nest, soac.lam) if Kind.OUTER in kinds else None
        outer_guard = flattener.guard(stm, Kind.OUTER, len(nest.space), nest.par) if outer else None
        intra: SegMap | None = None
        if Kind.INTRA in kinds:
            intra_or_why = _intragroup(walk, nest, soac.lam)
            if isinstance(intra_or_why, str):
                derivation.refused("G3 intra", describe(stm), intra_or_why, stm.loc)
            else:
                intra = intra_or_why
        intra_guard = _intra_guard(walk, stm, nest, intra) if intra else None
        flat: Body | None = None
        if Kind.FLAT in kinds:
            flat, parallel = flattener.body(nest, soac.lam.body)
            if not parallel and (outer or intra):
                derivation.refused("G3 flat", describe(stm), "nothing inside can be distributed",
                                   stm.loc)
                flat = None
    host = walk.expanded_pat(stm.pat)
    alternatives: list[Version] = []
    if outer:
        alternatives.append(Version(outer_guard, Kind.OUTER, _single(walk, host, outer, stm)))
    if intra:
        alternatives.append(Version(intra_guard, Kind.INTRA, _single(walk, host, intra, stm)))
    if flat is not None:
        alternatives.append(Version(None, Kind.FLAT, flat))
    if not alternatives:
        fallback = _outer(walk, nest, soac.lam)
        alternatives.append(Version(None, Kind.OUTER, _single(walk, host, fallback, stm)))
    _emit_versions(walk, stm, host, site, alternatives)
    walk.bind(stm.pat, host)
    return None


def _emit_versions(walk: Walk, stm: Stm, host: tuple[Param, ...], site: str,
                   alternatives: list[Version]) -> None:
    """One alternative stands for itself; several become a ``Versions`` node."""
    last = alternatives[-1]
    alternatives[-1] = Version(None, last.kind, last.body)
    if len(alternatives) > 1:
        versions = Versions(site, tuple(alternatives), tuple(p.type for p in host))
        walk.emit(Stm(host, versions, stm.attrs, stm.loc))
        return
    for inner in last.body.stms:
        walk.emit(inner)
    for param, atom in zip(host, last.body.result, strict=True):
        walk.emit(Stm((param,), AtomExp(atom)))


def _descend(walk: Walk, stm: Stm, nest: Nest, lam: Lambda) -> str | None:
    """e_flat alone: continue with the body under the larger nest."""
    with walk.flattener.derivation.inside():
        flat, _ = walk.flattener.body(nest, lam.body)
    for inner in flat.stms:
        walk.emit(inner)
    host = walk.expanded_pat(stm.pat)
    for param, atom in zip(host, flat.result, strict=True):
        walk.emit(Stm((param,), AtomExp(atom)))
    walk.bind(stm.pat, host)
    return None


def _outer(walk: Walk, nest: Nest, lam: Lambda) -> SegMap:
    """e_top: one work-item per point, everything inside sequential."""
    return walk.segmap(nest.space, nest.kernel_body(lam.body.stms, lam.body.result), lam.ret)


def _intragroup(walk: Walk, nest: Nest, lam: Lambda) -> SegMap | str:
    """e_middle: one work-group per point, what is inside flattened over its work-items."""
    flattener = walk.flattener
    space, body = flattener.fresh_kernel(nest.space, nest.kernel_body(lam.body.stms,
                                                                      lam.body.result))
    with flattener.derivation.inside():
        group_body, _ = flattener.inside_group().body(Nest(), body)
    if all(dim.width == i64(1) for inner in segop_spaces(group_body) for dim in inner):
        return "no operation inside can use the work-items of a group"
    inside = {name for stm in group_body.stms for name in _bound_inside(stm)}
    inside |= {dim.index for dim in space}
    for inner in segop_spaces(group_body):
        for dim in inner:
            if dim.width in inside:
                return f"the width '{_base(dim.width)}' is known only inside of the group"
    return SegMap(Level.GROUP, space, group_body, lam.ret)


def _bound_inside(stm: Stm) -> list[VName]:
    names = [p.name for p in stm.pat]
    if isinstance(stm.exp, Loop):
        names += [p.param.name for p in stm.exp.params]
    for body in _inner_bodies(stm.exp):
        names += [name for inner in body.stms for name in _bound_inside(inner)]
    return names


def _intra_guard(walk: Walk, stm: Stm, nest: Nest, intra: SegMap) -> Guard:
    products = [product([size_of(dim.width) for dim in space])
                for space in segop_spaces(intra.body)]
    return walk.flattener.guard(stm, Kind.INTRA, len(nest.space), least(*products),
                                greatest(*products))


def _single(walk: Walk, host: tuple[Param, ...], exp: Exp, stm: Stm) -> Body:
    """A body that is one statement with names of its own."""
    pat = tuple(Param(walk.flattener.names.fresh(p.name), p.type) for p in host)
    inner = Stm(pat, exp, loc=stm.loc)
    walk.flattener.learn(inner)
    return Body((inner,), tuple(p.name for p in pat))


# Reductions and scans


@flattening("G4", Redomap, Scanomap)
def vector_operator_interchange(walk: Walk, stm: Stm) -> str | None:
    """Σ ⊢ reduce (map ⊕) (replicate k e) xss ⇒ Σ ⊢ map (reduce ⊕ e) (transpose xss)

    The same for scan, with its result transposed back.  Nested vectors take one dimension at
    a time.
    """
    soac = stm.exp
    assert isinstance(soac, Redomap | Scanomap)
    if len(soac.ops) != 1 or not is_identity(soac.lam):
        return ""
    inner = vector_operator(soac.ops[0])
    if inner is None:
        return ""
    if any(not walk.invariant(a) for a in (soac.width, inner.width)):
        return "the vectors have another length at each point of the nest"
    flattener = walk.flattener
    neutral = tuple(_element_of_replicate(walk, atom) for atom in soac.ops[0].neutral)
    columns: list[VName] = []
    for array in soac.arrays:
        type_ = flattener.types[array]
        perm = (1, 0, *range(2, len(shape_of(type_))))
        shape = shape_of(type_)
        column = Param(flattener.names.fresh(array),
                       array_of((shape[1], shape[0], *shape[2:]), row_of(type_, 2)
                                if len(shape) == 2 else row_of(type_, len(shape))))
        walk.statement(Stm((column,), Rearrange(perm, array), loc=stm.loc))
        flattener.types[column.name] = column.type
        columns.append(column.name)
    params = tuple(Param(flattener.names.fresh("column"), row_of(flattener.types[c]))
                   for c in columns)
    elements = tuple(Param(flattener.names.fresh("x"), row_of(p.type)) for p in params)
    operator = Operator(inner.lam, neutral, soac.ops[0].comm)
    identity = Lambda(elements, Body((), tuple(p.name for p in elements)),
                      tuple(p.type for p in elements))
    folded = tuple(Param(flattener.names.fresh(p.name),
                         row_of(p.type) if isinstance(soac, Redomap)
                         else array_of((soac.width,), row_of(p.type, 2)))
                   for p in stm.pat)
    fold = type(soac)(soac.width, (operator,), identity, tuple(p.name for p in params))
    lam = Lambda(params, Body((Stm(folded, fold, stm.attrs, stm.loc),),
                              tuple(p.name for p in folded)), tuple(p.type for p in folded))
    flattener.learn_lambda(lam)
    flattener.derivation.fired("G4", describe(stm), "the map of the operator goes outside", stm.loc)
    nested = Map(inner.width, lam, tuple(columns))
    with flattener.derivation.inside():
        if isinstance(soac, Redomap):
            walk.statement(Stm(stm.pat, nested, stm.attrs, stm.loc))
            return None
        rows = tuple(Param(flattener.names.fresh(p.name), array_of((inner.width,), f.type))
                     for p, f in zip(stm.pat, folded, strict=True))
        flattener.learn_params(rows)
        walk.need(p.name for p in rows)
        walk.statement(Stm(rows, nested, stm.attrs, stm.loc))
        for param, row in zip(stm.pat, rows, strict=True):
            perm = (1, 0, *range(2, len(shape_of(row.type))))
            walk.statement(Stm((param,), Rearrange(perm, row.name), loc=stm.loc))
    return None


def _element_of_replicate(walk: Walk, neutral: Atom) -> Atom:
    """An element of the neutral array of a vectorised operator; they are all equal."""
    assert isinstance(neutral, VName)
    definition = walk.nest.defs.get(neutral) or walk.flattener.host_defs.get(neutral)
    if definition is not None and isinstance(definition.exp, Replicate):
        shape, value = definition.exp.shape, definition.exp.value
        if len(shape) == 1:
            return value
    type_ = walk.flattener.types[neutral]
    element = Param(walk.flattener.names.fresh("neutral"), row_of(type_))
    walk.flattener.learn_params([element])
    if definition is not None and isinstance(definition.exp, Replicate):
        walk.statement(Stm((element,), Replicate(definition.exp.shape[1:], definition.exp.value)))
    else:
        dims: tuple[Dim, ...] = (i64(0), *map(whole, shape_of(element.type)))
        walk.statement(Stm((element,), Index(neutral, dims)))
    return element.name


@flattening("G9", Redomap, Scanomap)
def redomap_with_inner_parallelism(walk: Walk, stm: Stm) -> str | None:
    """Σ ⊢ redomap ⊕ e f xs ⇒ if t ≤ Par(Σ, ⟨x ∈ xs⟩) then segred (Σ, ⟨x ∈ xs⟩) ⊕ e f
                            else (Σ ⊢ reduce ⊕ e (map f xs))

    Provided f has parallelism.  The same for scans.  An operator over arrays that G4 cannot
    interchange takes the second side without a guard.
    """
    soac = stm.exp
    assert isinstance(soac, Redomap | Scanomap)
    if is_identity(soac.lam):
        return ""
    scalar = all(scalar_operator(op) for op in soac.ops)
    parallel = has_parallelism(soac.lam.body) and "sequential_inner" not in stm.attrs
    if scalar and not parallel:
        return ""
    if why := _irregular(walk, stm):
        return why
    flattener, derivation = walk.flattener, walk.flattener.derivation
    if not scalar or walk.level is Level.LOCAL or _operator_needs_nest(walk, soac.ops):
        derivation.fired("G9", describe(stm), "split into a map and a reduction", stm.loc)
        with derivation.inside():
            for part in _split_map(walk, stm):
                walk.need(p.name for p in part.pat)
                walk.statement(part)
        return None
    kinds = obey_attributes(stm, frozenset({Kind.REDOMAP, Kind.FLAT}))
    kinds = flattener.policy(Candidates(stm, soac.lam.body, kinds))
    if why := walk.prepare(stm):
        return why
    derivation.fired("G9", describe(stm), "versions of the map part", stm.loc)
    site = flattener.site()
    nest = _enter(walk, soac.width, soac.lam, soac.arrays)
    host = walk.expanded_pat(stm.pat)
    alternatives: list[Version] = []
    if Kind.REDOMAP in kinds:
        segop = _segmented(walk, nest, soac)
        guard = flattener.guard(stm, Kind.REDOMAP, len(nest.space), nest.par)
        alternatives.append(Version(guard, Kind.REDOMAP, _single(walk, host, segop, stm)))
    if Kind.FLAT in kinds:
        copy = flattener.copy_body(Body((stm,), tuple(p.name for p in stm.pat)))
        with derivation.inside():
            split = Body(tuple(_split_map(walk, copy.stms[0])), copy.result)
            flat, _ = flattener.body(walk.nest, split)
        alternatives.append(Version(None, Kind.FLAT, flat))
    _emit_versions(walk, stm, host, site, alternatives)
    walk.bind(stm.pat, host)
    return None


def _split_map(walk: Walk, stm: Stm) -> list[Stm]:
    """A redomap or scanomap as a map and a plain reduce or scan of its results."""
    soac = stm.exp
    assert isinstance(soac, Redomap | Scanomap)
    flattener = walk.flattener
    count = sum(len(op.neutral) for op in soac.ops)
    mapped = tuple(Param(flattener.names.fresh("mapped"), array_of((soac.width,), type_))
                   for type_ in soac.lam.ret[:count])
    elements = tuple(Param(flattener.names.fresh("x"), type_) for type_ in soac.lam.ret[:count])
    identity = Lambda(elements, Body((), tuple(p.name for p in elements)), soac.lam.ret[:count])
    flattener.learn_params([*mapped, *elements])
    map_ = Stm((*mapped, *stm.pat[count:]), Map(soac.width, soac.lam, soac.arrays), stm.attrs,
               stm.loc)
    fold = type(soac)(soac.width, soac.ops, identity, tuple(p.name for p in mapped))
    return [map_, Stm(stm.pat[:count], fold, stm.attrs, stm.loc)]


@flattening("G1", Redomap, Scanomap)
def reduction_without_inner_parallelism(walk: Walk, stm: Stm) -> str | None:
    """Σ ⊢ redomap ⊕ e f xs ⇒ segred (Σ, ⟨x ∈ xs⟩) ⊕ e f      f has no parallelism

    The same with segscan for scans.  Provided ⊕ and e are the same at all points of Σ.
    """
    soac = stm.exp
    assert isinstance(soac, Redomap | Scanomap)
    if not all(scalar_operator(op) for op in soac.ops):
        return "its operator works on arrays and is not a map"
    if why := _irregular(walk, stm):
        return why
    if why := _operator_needs_nest(walk, soac.ops):
        return why
    if why := walk.prepare(stm):
        return why
    nest = _enter(walk, soac.width, soac.lam, soac.arrays)
    name = "segred" if isinstance(soac, Redomap) else "segscan"
    walk.flattener.derivation.fired("G1", describe(stm), f"{name} over {_show(nest)}", stm.loc)
    _emit_with_nest(walk, stm, nest, _segmented(walk, nest, soac))
    return None


def _segmented(walk: Walk, nest: Nest, soac: Redomap | Scanomap) -> SegRed | SegScan:
    body = nest.kernel_body(soac.lam.body.stms, soac.lam.body.result)
    space, body = walk.flattener.fresh_kernel(nest.space, body)
    ops = walk.flattener.copy_operators(soac.ops)
    node = SegRed if isinstance(soac, Redomap) else SegScan
    return node(walk.level, space, ops, body, soac.lam.ret)


def _operator_needs_nest(walk: Walk, ops: tuple[Operator, ...]) -> str | None:
    for op in ops:
        for name in (*free_vars(op.lam), *(a for a in op.neutral if isinstance(a, VName))):
            if not walk.invariant(name):
                return f"its operator uses '{name.base}', which differs between points of the nest"
    return None


# Scatter and histograms


@flattening("G1", Scatter)
def scatter_under_nest(walk: Walk, stm: Stm) -> str | None:
    """Σ ⊢ scatter d is vs ⇒ segscatter (Σ, ⟨i ∈ is, v ∈ vs⟩) d' (Σ's indices, i) v

    d' is d expanded by Σ.  A map part with parallelism is split off first.
    """
    soac = _exp(stm, Scatter)
    if why := _irregular(walk, stm):
        return why
    if has_parallelism(soac.lam.body):
        lam, split = _split_lambda(walk, stm, soac.width, soac.lam, soac.arrays)
        with walk.flattener.derivation.inside():
            walk.need(p.name for p in split.pat)
            walk.statement(split)
        soac = Scatter(soac.width, lam, tuple(p.name for p in split.pat), soac.dests)
        stm = Stm(stm.pat, soac, stm.attrs, stm.loc)
    if why := walk.prepare(stm):
        return why
    nest = _enter(walk, soac.width, soac.lam, soac.arrays)
    depth = len(walk.nest.space)
    dests: list[Dest] = []
    result: list[Atom] = []
    values = list(soac.lam.body.result)
    for dest in soac.dests:
        array = walk.expand(dest.array, walk.flattener.types[dest.array])
        assert isinstance(array, VName)
        dests.append(Dest(array, depth + dest.rank))
        result += [*walk.nest.indices, *values[: dest.rank + 1]]
        values = values[dest.rank + 1 :]
    body = nest.kernel_body(soac.lam.body.stms, tuple(result))
    space, body = walk.flattener.fresh_kernel(nest.space, body)
    walk.flattener.derivation.fired("G1", describe(stm), f"segscatter over {_show(nest)}", stm.loc)
    _emit_with_nest(walk, stm, walk.nest, SegScatter(walk.level, space, tuple(dests), body))
    return None


@flattening("G1", Hist)
def hist_under_nest(walk: Walk, stm: Stm) -> str | None:
    """Σ ⊢ hist d ⊕ e is vs ⇒ seghist (Σ, ⟨i ∈ is, v ∈ vs⟩) d' ⊕ e i v      d' is d over Σ"""
    soac = _exp(stm, Hist)
    if why := _irregular(walk, stm):
        return why
    if not all(scalar_operator(op.op) for op in soac.ops):
        return "its operator works on arrays"
    if why := _operator_needs_nest(walk, tuple(op.op for op in soac.ops)):
        return why
    if has_parallelism(soac.lam.body):
        lam, split = _split_lambda(walk, stm, soac.width, soac.lam, soac.arrays)
        with walk.flattener.derivation.inside():
            walk.need(p.name for p in split.pat)
            walk.statement(split)
        soac = Hist(soac.width, soac.ops, lam, tuple(p.name for p in split.pat))
        stm = Stm(stm.pat, soac, stm.attrs, stm.loc)
    if why := walk.prepare(stm):
        return why
    nest = _enter(walk, soac.width, soac.lam, soac.arrays)
    ops: list[HistOp] = []
    for op in soac.ops:
        dests = tuple(_array(walk.expand(d, walk.flattener.types[d])) for d in op.dests)
        (operator,) = walk.flattener.copy_operators((op.op,))
        ops.append(HistOp(op.bins, dests, operator))
    body = nest.kernel_body(soac.lam.body.stms, soac.lam.body.result)
    space, body = walk.flattener.fresh_kernel(nest.space, body)
    walk.flattener.derivation.fired("G1", describe(stm), f"seghist over {_show(nest)}", stm.loc)
    _emit_with_nest(walk, stm, walk.nest, SegHist(walk.level, space, tuple(ops), body))
    return None


def _split_lambda(walk: Walk, stm: Stm, width: Atom, lam: Lambda,
                  arrays: tuple[VName, ...]) -> tuple[Lambda, Stm]:
    """A SOAC's lambda as a map of its own, and an identity in its place."""
    flattener = walk.flattener
    mapped = tuple(Param(flattener.names.fresh("mapped"), array_of((width,), type_))
                   for type_ in lam.ret)
    elements = tuple(Param(flattener.names.fresh("x"), type_) for type_ in lam.ret)
    flattener.learn_params([*mapped, *elements])
    identity = Lambda(elements, Body((), tuple(p.name for p in elements)), lam.ret)
    return identity, Stm(mapped, Map(width, lam, arrays), stm.attrs, stm.loc)


# Layout, updates


@flattening("G5", Rearrange, Reshape)
def layout_under_nest(walk: Walk, stm: Stm) -> str | None:
    """Σ ⊢ rearrange p xs ⇒ rearrange (id, p) xs'      xs := xs'[i...]

    The outer dimensions that Σ fixes stay in front.  The same for reshape.
    """
    exp = stm.exp
    assert isinstance(exp, Rearrange | Reshape)
    (param,) = stm.pat
    definition = walk.nest.defs.get(exp.array)
    match definition:
        case Stm(_, Index(array, dims)):
            depth = next((k for k, d in enumerate(dims) if isinstance(d, SliceDim)), len(dims))
            if not all(is_whole(dim) for dim in dims[depth:]):
                return "its operand is a part of an array"
        case _:
            return ""
    if not walk.regular(param.type):
        return "its shape differs between points of the nest"
    outer = shape_of(walk.flattener.types[array])[:depth]
    host = Param(walk.flattener.names.fresh(param.name), array_of(outer, param.type))
    layout: Exp
    match exp:
        case Rearrange(perm):
            layout = Rearrange((*range(depth), *(depth + k for k in perm)), array)
        case Reshape(shape):
            layout = Reshape((*outer, *shape), array)
    walk.emit(Stm((host,), layout, stm.attrs, stm.loc))
    dims = (*dims[:depth], *map(whole, shape_of(param.type)))
    walk.nest = walk.nest.define([Stm((param,), Index(host.name, dims))])
    walk.flattener.derivation.fired("G5", describe(stm), "once, outside of the nest", stm.loc)
    return None


@flattening("G1", Update)
def update_under_nest(walk: Walk, stm: Stm) -> str | None:
    """Σ ⊢ xs with [d] <- v ⇒ segscatter Σ xs' (Σ's indices, d) v

    A slice adds its dimensions to the space.  Bounds are checked in the kernel.
    """
    update = _exp(stm, Update)
    if not walk.nest.space:
        return ""
    (param,) = stm.pat
    if not walk.regular(param.type):
        return "the array has another shape at each point of the nest"
    slices = [dim for dim in update.dims if isinstance(dim, SliceDim)]
    if any(not walk.invariant(dim.count) for dim in slices):
        return "the slice has another length at each point of the nest"
    if why := walk.prepare(stm):
        return why
    flattener = walk.flattener
    array = _array(walk.expand(update.array, param.type))
    inner = tuple(SegDim(flattener.names.fresh("k"), dim.count) for dim in slices)
    stms: list[Stm] = []
    indices: list[Atom] = []
    remaining = iter(inner)
    for dim, size in zip(update.dims, shape_of(param.type), strict=True):
        position = _position(walk, stms, dim, remaining)
        if update.checked:
            _check_bounds(walk, stms, position, size, stm)
        indices.append(position)
    value: Atom = update.value
    if inner and isinstance(value, VName):
        element = _fresh(walk, "value", _elem(param.type))
        stms.append(Stm((element,), Index(value, tuple(dim.index for dim in inner))))
        value = element.name
    nest = Nest((*walk.nest.space, *inner), walk.nest.defs)
    body = nest.kernel_body(tuple(stms), (*walk.nest.indices, *indices, value))
    space, body = flattener.fresh_kernel(nest.space, body)
    dest = Dest(array, len(walk.nest.space) + len(indices))
    flattener.derivation.fired("G1", describe(stm), "segscatter of the new elements", stm.loc)
    _emit_with_nest(walk, stm, walk.nest, SegScatter(walk.level, space, (dest,), body))
    return None


def _position(walk: Walk, stms: list[Stm], dim: Dim, inner: Iterator[SegDim]) -> Atom:
    """The index that ``dim`` selects: itself, or start + k * stride of its own dimension."""
    if not isinstance(dim, SliceDim):
        return dim
    scaled = _fresh(walk, "offset", Prim.I64)
    place = _fresh(walk, "index", Prim.I64)
    stms.append(Stm((scaled,), PrimOp("mul", Prim.I64, (next(inner).index, dim.stride))))
    stms.append(Stm((place,), PrimOp("add", Prim.I64, (dim.start, scaled.name))))
    return place.name


def _check_bounds(walk: Walk, stms: list[Stm], index: Atom, size: Atom, stm: Stm) -> None:
    above, below, inside = (_fresh(walk, "inside", Prim.BOOL) for _ in range(3))
    stms += [
        Stm((above,), PrimOp("le", Prim.I64, (i64(0), index))),
        Stm((below,), PrimOp("lt", Prim.I64, (index, size))),
        Stm((inside,), PrimOp("and", Prim.BOOL, (above.name, below.name))),
        Stm((), Assert(inside.name, "Index [{}] out of bounds for array of shape [{}].",
                       (index, size)), loc=stm.loc),
    ]


@flattening("G1", Concat)
def concat_under_nest(walk: Walk, stm: Stm) -> str | None:
    """Σ ⊢ concat xs ys ⇒ concat along a dimension deeper by the depth of Σ, of xs' and ys'"""
    concat = _exp(stm, Concat)
    if not walk.nest.space:
        return ""
    (param,) = stm.pat
    arrays = [(array, walk.flattener.types[array]) for array in concat.arrays]
    if not walk.regular(param.type) or any(not walk.regular(type_) for _, type_ in arrays):
        return "an array has another shape at each point of the nest"
    if why := walk.prepare(stm):
        return why
    expanded = tuple(_array(walk.expand(array, type_)) for array, type_ in arrays)
    walk.flattener.derivation.fired("G1", describe(stm), "concat of the expanded arrays", stm.loc)
    _emit_with_nest(walk, stm, walk.nest,
                    Concat(concat.dim + len(walk.nest.space), expanded, concat.size))
    return None


# Control flow


@flattening("G7", Loop)
def loop_interchange(walk: Walk, stm: Stm) -> str | None:
    """Σ ⊢ loop (x = e) for i < n do f ⇒ loop (x' = e') for i < n do (Σ, x := x'[...] ⊢ f)

    Provided n is the same at all points of Σ, f has parallelism and the shape of x does not
    change.  With an empty Σ the loop stays, and its body is flattened.
    """
    loop = _exp(stm, Loop)
    parallel = has_parallelism(loop.body)
    flattener = walk.flattener
    if not walk.nest.space:
        if not parallel:
            return ""
        with flattener.derivation.inside():
            body, _ = flattener.body(Nest(), loop.body)
        walk.emit(Stm(stm.pat, Loop(loop.params, loop.form, body), stm.attrs, stm.loc))
        return None
    if not parallel:
        return ""
    if not isinstance(loop.form, ForLoop):
        return "a while loop may run a different number of times at each point"
    if not walk.invariant(loop.form.bound):
        return "it runs a different number of times at each point"
    own = {p.param.name for p in loop.params}
    for p in loop.params:
        if not walk.regular(p.param.type) or any(s in own for s in shape_of(p.param.type)):
            return f"'{p.param.name.base}' has another shape at each point or iteration"
    if why := walk.prepare(stm):
        return why
    params = tuple(Param(flattener.names.fresh(p.param.name),
                         array_of(walk.nest.widths, p.param.type)) for p in loop.params)
    inits = [walk.expand(p.init, p.param.type) for p in loop.params]
    flattener.derivation.fired("G7", describe(stm), f"the loop goes outside of {_show(walk.nest)}",
                               stm.loc)
    flattener.learn_params(params)
    inner = walk.nest.define(walk.nest.point(p.param, host.name)
                             for p, host in zip(loop.params, params, strict=True))
    with flattener.derivation.inside():
        body, _ = flattener.body(inner, loop.body)
    carried = tuple(LoopParam(p, init) for p, init in zip(params, inits, strict=True))
    _emit_with_nest(walk, stm, walk.nest, Loop(carried, loop.form, body))
    return None


@flattening("G8", If)
def branch_interchange(walk: Walk, stm: Stm) -> str | None:
    """Σ ⊢ if c then e else f ⇒ if c then (Σ ⊢ e) else (Σ ⊢ f)      c invariant to Σ"""
    branch = _exp(stm, If)
    parallel = has_parallelism(branch.then_) or has_parallelism(branch.else_)
    if not parallel and (walk.nest.space or walk.level is Level.LOCAL):
        return ""
    flattener = walk.flattener
    if not walk.invariant(branch.cond):
        return "its condition differs between points of the nest"
    own = {p.name for p in stm.pat}
    if walk.nest.space and any(
        not walk.regular(p.type) or any(s in own for s in shape_of(p.type)) for p in stm.pat
    ):
        return "its result has another shape at each point of the nest"
    if why := walk.prepare(stm):
        return why
    if walk.nest.space:
        flattener.derivation.fired("G8", describe(stm),
                                   f"the branch goes outside of {_show(walk.nest)}", stm.loc)
    with flattener.derivation.inside():
        then_, _ = flattener.body(walk.nest, branch.then_)
        else_, _ = flattener.body(walk.nest, branch.else_)
    ret = tuple(array_of(walk.nest.widths, t) for t in branch.ret)
    _emit_with_nest(walk, stm, walk.nest, If(branch.cond, then_, else_, ret))
    return None


# What the rules share


def _exp(stm: Stm, node: type[Node]) -> Node:
    """The expression of ``stm``, which its rule's head says is a ``node``."""
    assert isinstance(stm.exp, node)
    return stm.exp


def _array(atom: Atom) -> VName:
    assert isinstance(atom, VName)
    return atom


def _elem(type_: Type) -> Prim:
    return type_ if isinstance(type_, Prim) else type_.elem


def _fresh(walk: Walk, base: str, type_: Type) -> Param:
    param = Param(walk.flattener.names.fresh(base), type_)
    walk.flattener.learn_params([param])
    return param


def _base(atom: Atom) -> str:
    return str(atom.value) if isinstance(atom, Const) else atom.base


def _show(nest: Nest) -> str:
    return "⟨" + ", ".join(f"{d.index.base} < {_base(d.width)}" for d in nest.space) + "⟩"


def _irregular(walk: Walk, stm: Stm) -> str | None:
    """Why a SOAC cannot run under Σ as an operation of its own, if so."""
    soac = stm.exp
    assert isinstance(soac, Map | Redomap | Scanomap | Scatter | Hist)
    if not walk.invariant(soac.width):
        return f"its width '{_base(soac.width)}' differs between points of the nest"
    for param in stm.pat:
        if not walk.regular(param.type):
            return f"'{param.name.base}' has another shape at each point of the nest"
    inside = {p.name for s in soac.lam.body.stms for p in s.pat}
    for type_ in soac.lam.ret:
        if any(size in inside for size in shape_of(type_)):
            return "its results have different shapes"
    return None


def _enter(walk: Walk, width: Atom, lam: Lambda, arrays: tuple[VName, ...]) -> Nest:
    """Σ, ⟨params ∈ arrays, width⟩ with a fresh index."""
    index = walk.flattener.names.fresh("i")
    walk.flattener.learn_params([Param(index, Prim.I64)])
    return walk.nest.enter(index, width, zip(lam.params, arrays, strict=True))


def _emit_with_nest(walk: Walk, stm: Stm, nest: Nest, exp: Exp) -> None:
    """Emit ``exp`` with expanded results and bind the names of ``stm`` to them."""
    host = walk.expanded_pat(stm.pat)
    walk.emit(Stm(host, exp, stm.attrs, stm.loc))
    walk.bind(stm.pat, host)


RULES: dict[type, tuple[FlatteningRule, ...]] = {
    head: tuple(rule for rule in FLATTENING if head in rule.heads)
    for rule in FLATTENING for head in rule.heads
}
"""The rules by the expression they start from."""
