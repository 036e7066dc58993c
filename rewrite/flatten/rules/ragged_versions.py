"""Versions of a map whose inner widths differ between its points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.guards import KIND_IN_WORDS, Kind, Lengths
from runelift.ir.names import VName
from runelift.ir.ragged import Sharing
from runelift.ir.sizes import Size, ceil_div
from runelift.ir.traverse import free_vars, needed_for
from runelift.ir.types import as_name
from runelift.rewrite.engine.pick import names_in
from runelift.rewrite.engine.scalar_code import may_fail
from runelift.rewrite.flatten.book import Unlike, flattening
from runelift.rewrite.flatten.flattener import Flattener
from runelift.rewrite.flatten.nest import Nest, Segments, show_nest
from runelift.rewrite.flatten.parallelism import called_in, segops
from runelift.rewrite.flatten.policy import Candidates, keeps_lanes, obey_attributes
from runelift.rewrite.flatten.rules.common import enter, irregular
from runelift.rewrite.flatten.rules.maps import emit_versions, outer_version, single_version
from runelift.rewrite.flatten.rules.slabs import in_slabs, stores_elements
from runelift.rewrite.flatten.segments import with_facts
from runelift.rewrite.flatten.walk import Walk

LANES = 8
"""The neighbouring work-items that share a segment, as guards count parallelism."""
GROUP = 256
"""The work-items of a group that share a segment, as guards count parallelism."""
WORKERS = {Kind.LANES: LANES, Kind.GROUP: GROUP}
SHARINGS = {Kind.LANES: Sharing.LANES, Kind.GROUP: Sharing.GROUP, Kind.MERGE: Sharing.MERGE}
"""The executor of segments in each kind of version but ``row``."""
REGULAR = {Kind.ROW: Kind.OUTER, Kind.LANES: Kind.INTRA, Kind.GROUP: Kind.INTRA,
           Kind.MERGE: Kind.FLAT}
"""The kinds of version of a regular map that policies and attributes know."""


@flattening("G3r", ir.Map)
def map_with_ragged_parallelism(walk: Walk, stm: ir.Stm, soac: ir.Map) -> str | None:
    """Σ ⊢ map (λx → e) xs ⇒ if t_row ≤ Par(row) then segmap Σ' e
                            else if t_lanes ≤ Par(lanes) then (Σ' ⊢ e) by neighbours
                            else if t_group ≤ Par(group) then (Σ' ⊢ e) by groups
                            else (Σ' ⊢ e) by equal parts

    Provided widths of e differ between the points of Σ' = Σ, ⟨x ∈ xs⟩, and are known before e runs.
    Par is average parallelism, work through span.  If all lengths are equal, Par(row) is the
    number of points.  There is the version by neighbours only under the policy ``full``.
    """
    if walk.level is not ir.Level.GRID or irregular(walk, stm):
        return Unlike("it is no map over the grid")
    if called_in(soac.lam.body):
        return Unlike("it calls a function that calls itself")
    widths = _ragged_widths(walk, soac.lam)
    if not widths:
        return Unlike("no width inside differs between its points")
    if why := walk.prepare(stm):
        return why
    nest = enter(walk, soac.width, soac.lam, soac.arrays)
    regular = obey_attributes(stm, frozenset(REGULAR.values()))
    kinds = walk.flattener.policy(Candidates(stm, soac.lam.body, regular, len(walk.nest.space)))
    wanted = [kind for kind in REGULAR if REGULAR[kind] in kinds
              and (kind is not Kind.LANES or keeps_lanes(walk.flattener.policy))]
    if wanted == [Kind.ROW]:
        return Unlike("the policy or an attribute wants the outer version only")
    return _emit_versions(walk, stm, nest, widths, wanted)


def _ragged_widths(walk: Walk, lam: ir.Lambda) -> list[VName]:
    """The widths of operations of a body that it computes first, of scalars alone."""
    own = {p.name for p in lam.params} | {p.name for stm in lam.body.stms for p in stm.pat}
    found = dict[VName, None]()
    for stm in lam.body.stms:
        if isinstance(stm.exp, ir.SOACS) and "sequential" not in stm.attrs:
            width = stm.exp.width
            if isinstance(width, VName) and width in own and all(
                    isinstance(s.exp, ir.PrimOp | ir.Convert | ir.Index | ir.AtomExp)
                    for s in needed_for(lam.body.stms, (width,))):
                found[width] = None
    return list(found)


def _emit_versions(walk: Walk, stm: ir.Stm, nest: Nest, widths: list[VName],
                   kinds: list[Kind]) -> str | None:
    """Emit the facts and the versions; the reason if there is only one version."""
    soac, flattener = ir.node_of(stm, ir.Map), walk.flattener
    mark = len(flattener.derivation.steps)
    facts, lam = _facts(walk, nest, soac.lam, widths)
    found = dict(zip(widths, facts.nest.segments.values(), strict=True))
    lengths = Lengths(nest.par, *(
        sum((Size.var(each) for each in parts), Size.of(0)) for parts in zip(*(
            (s.total, *s.known) for s in found.values()), strict=True)))
    site, host = flattener.site(), walk.expanded_pat(stm.pat)
    flattener.derivation.fired("G3r", stm, f"versions over {show_nest(nest)}, whose inner widths "
                               "differ")
    alternatives = list[ir.Version]()

    def guarded(kind: Kind, par: Size, body: ir.Body) -> ir.Version:
        return ir.Version(flattener.guard(stm, kind, len(nest.space), par, lengths), kind, body)

    with flattener.derivation.inside():
        if Kind.ROW in kinds:
            row = single_version(walk, host, outer_version(walk, nest, soac.lam), stm)
            alternatives.append(guarded(Kind.ROW, _par(Kind.ROW, nest, found.values()), row))
            _tell_mapping(walk, stm, Kind.ROW)
        for kind in (kind for kind in kinds if kind is not Kind.ROW):
            before = len(flattener.derivation.steps)
            with flattener.derivation.inside():
                body, parallel = _shared(walk.flattener, lam, nest, found, SHARINGS[kind])
            if not parallel:
                break
            inside = flattener.derivation.steps[before:]
            del flattener.derivation.steps[before:]
            if kind is kinds[-1]:
                if len(kinds) > 1 and stores_elements(body, found.values()):
                    slabs = _slabs(walk, lam, nest, found, host, body)
                    alternatives.append(guarded(Kind.SLABS, Size.of(0), slabs))
                    _tell_mapping(walk, stm, Kind.SLABS)
                alternatives.append(ir.Version(None, kind if _is_shared(body) else Kind.FLAT, body))
            elif _is_shared(body):
                alternatives.append(guarded(kind, _par(kind, nest, found.values()), body))
            else:
                continue  # the last version does so, too
            _tell_mapping(walk, stm, alternatives[-1].kind)
            flattener.derivation.steps += inside
    if len(alternatives) == (Kind.ROW in kinds):
        del flattener.derivation.steps[mark:]
        return "nothing inside can be distributed"
    walk.emit(*facts.out)
    emit_versions(walk, stm, host, site, alternatives)
    walk.bind(stm.pat, host)
    return None


def _facts(walk: Walk, nest: Nest, lam: ir.Lambda, widths: list[VName]) -> tuple[Walk, ir.Lambda]:
    """A walk over what the widths need, with their descriptors in its nest.

    It also makes the checks that stand before the first operation on elements: the host ends there
    before a version runs on wrong lengths.  The lambda is without these checks.  The names of the
    statements are fresh, as versions contain the statements again.
    """
    ahead = _ahead(lam.body.stms, widths)
    copy = walk.flattener.copy_body(ir.Body(ahead, tuple(widths)))
    facts = Walk(walk.flattener, nest)
    facts.look_ahead(names_in(copy.result))
    for stm in copy.stms:
        facts.statement(stm)
        if _is_check(stm):
            facts.check_definitions(ir.Stm((), ir.AtomExp(stm.pat[0].name)) if stm.pat else stm)
    for atom in copy.result:
        with_facts(facts, as_name(atom))
    if facts.waits_for_checks:
        return facts, lam
    made = set(map(id, ahead))
    rest = tuple(_unchecked(stm) if id(stm) in made else stm for stm in lam.body.stms
                 if not (id(stm) in made and isinstance(stm.exp, ir.Assert)))
    return facts, replace(lam, body=replace(lam.body, stms=rest))


def _ahead(stms: tuple[ir.Stm, ...], widths: list[VName]) -> tuple[ir.Stm, ...]:
    """The statements that widths need, and the checks before what else may fail.

    So a point at which two checks fail reports the first of them.
    """
    elements, checks, scalar = set[VName](), set[int](), True
    scalar_code = ir.PrimOp | ir.Convert | ir.Index | ir.AtomExp | ir.Assert
    for stm in stms:
        if isinstance(stm.exp, scalar_code) and elements.isdisjoint(free_vars(stm)):
            checks |= {id(stm)} if scalar and _is_check(stm) else set()
        else:
            scalar = scalar and not may_fail(stm.exp)
            elements.update(p.name for p in stm.pat)
    wanted, found, fails = set(widths), list[ir.Stm](), False
    for stm in reversed(stms):
        needed = any(p.name in wanted for p in stm.pat)
        if needed or id(stm) in checks or (fails and isinstance(stm.exp, ir.Assert)):
            wanted |= free_vars(stm)
            found.append(stm)
            fails = fails or (needed and may_fail(stm.exp))
    return tuple(reversed(found))


def _is_check(stm: ir.Stm) -> bool:
    """True for an assertion, and for an access that may be out of bounds."""
    return isinstance(stm.exp, ir.Assert) or (isinstance(stm.exp, ir.Index) and stm.exp.checked)


def _unchecked(stm: ir.Stm) -> ir.Stm:
    """A statement without the check of its access."""
    return replace(stm, exp=replace(stm.exp, checked=False)) if isinstance(
        stm.exp, ir.Index) else stm


def _shared(flattener: Flattener, lam: ir.Lambda, nest: Nest, found: Mapping[VName, Segments],
            sharing: Sharing) -> tuple[ir.Body, int]:
    """The body under Σ' with its segments shared so, and what was run in parallel separately.

    It looks for failures of Σ itself: another version does not run.
    """
    flattener = replace(flattener, sharing=sharing, checked=set(flattener.checked))
    body = lam.body
    copy = flattener.copy_body(ir.Body(body.stms, (*body.result, *found)))
    results, widths = copy.result[:len(body.result)], copy.result[len(body.result):]
    inside = nest
    for width, segments in zip(widths, found.values(), strict=True):
        inside = inside.with_segments(as_name(width), segments)
    return flattener.body(inside, ir.Body(copy.stms, results), lam.ret)


def _tell_mapping(walk: Walk, stm: ir.Stm, kind: Kind) -> None:
    below = "" if kind in (Kind.ROW, Kind.SLABS) else ", as below"
    walk.flattener.derivation.happened(
        "mapping", f"{kind.value} version", KIND_IN_WORDS[kind] + below, stm.loc)


def _slabs(walk: Walk, lam: ir.Lambda, nest: Nest, found: Mapping[VName, Segments],
           pat: Sequence[ir.Param], like: ir.Body) -> ir.Body:
    """The body under Σ' in runs of segments, each by equal parts, without versions inside."""
    steps = walk.flattener.derivation.steps
    once = replace(walk.flattener, policy=_flat_alone)
    for width, each in found.items():
        nest = nest.with_segments(width, each)
    mark = len(steps)
    body = in_slabs(Walk(once, nest), nest, pat, like,
                    lambda inside, parts: _shared(once, lam, inside, parts, Sharing.MERGE)[0])
    del steps[mark:]
    return body


def _flat_alone(site: Candidates) -> frozenset[Kind]:
    """The flat version, where there is one."""
    return site.kinds & {Kind.FLAT} or site.kinds


def _is_shared(body: ir.Body) -> bool:
    """True if an operation of a body depends on who executes the elements of segments."""
    return any(segop.space and (ragged := segop.space[-1].ragged) is not None
               and ragged.sharing is not Sharing.FLAT for segop in segops(body))


def _par(kind: Kind, nest: Nest, found: Iterable[Segments]) -> Size:
    """Average parallelism: the work of all points and elements, through the longest point.

    If several work-items share a segment, each has a part, and the parts count.
    """
    workers = WORKERS.get(kind, 1)
    work, span = nest.par, Size.of(1)
    for each in found:
        work = work + ceil_div(Size.var(each.total), Size.of(workers))
        span = span + ceil_div(Size.var(each.known.longest), Size.of(workers))
    return ceil_div(work * workers, span)


