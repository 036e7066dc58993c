"""Maps: rules G2 and G3, where code versions come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.guards import Guard, Kind
from runelift.ir.traverse import binders
from runelift.ir.types import i64
from runelift.rewrite.flatten.book import Unlike, flattening
from runelift.rewrite.flatten.mapping import Levels, in_words, kind_of, mappings
from runelift.rewrite.flatten.nest import Nest, base_name, show_nest
from runelift.rewrite.flatten.parallelism import (
    called_in,
    has_parallelism,
    perfect_chain,
    points_of_group,
    segop_spaces,
)
from runelift.rewrite.flatten.policy import (
    Candidates,
    divides_groups,
    further_mappings,
    obey_attributes,
)
from runelift.rewrite.flatten.rules.common import descend, emit_with_nest, enter, irregular
from runelift.rewrite.flatten.walk import Walk


@flattening("G2", ir.Map)
def map_without_inner_parallelism(walk: Walk, stm: ir.Stm, soac: ir.Map) -> str | None:
    """Σ ⊢ map (λx → e) xs ⇒ segmap (Σ, ⟨x ∈ xs⟩) e      e has no parallelism"""
    if why := irregular(walk, stm):
        return why
    if has_parallelism(soac.lam.body) and "sequential_inner" not in stm.attrs:
        return Unlike("the body of the map has parallelism")
    if why := walk.prepare(stm):
        return why
    nest = enter(walk, soac.width, soac.lam, soac.arrays)
    walk.flattener.derivation.fired("G2", stm, f"a work-item per point of {show_nest(nest)}")
    emit_with_nest(walk, stm, nest, outer_version(walk, nest, soac.lam))
    return None


@flattening("G3", ir.Map)
def map_with_inner_parallelism(walk: Walk, stm: ir.Stm, soac: ir.Map) -> str | None:
    """Σ ⊢ map (λx → e) xs ⇒ if t_top ≤ Par(Σ') then segmap Σ' e
                            else if t_intra ≤ Par(e) then segmap^group Σ' (∅ ⊢_local e)
                            else (Σ' ⊢ e)

    Provided e has parallelism; Σ' = Σ, ⟨x ∈ xs⟩.  The three bodies are e_top, e_middle and
    e_flat of the paper.  A candidate that would be no different from another, or that is
    irregular, is not built; the policy may drop more candidates.  The kinds are the mappings of two
    loops (:mod:`~runelift.rewrite.flatten.mapping`).  A kernel has no guards, so the last kind
    stands alone inside a group.  Where the policy divides groups, e_middle is a choice of two:
    if t ≤ Par(rows of e) then one work-item per row else one per element.
    """
    if why := irregular(walk, stm) or walk.prepare(stm):
        return why
    flattener, derivation = walk.flattener, walk.flattener.derivation
    nest = enter(walk, soac.width, soac.lam, soac.arrays)
    if called_in(soac.lam.body):
        derivation.fired("G3", stm, "the flat version only: kernels never recurse")
        descend(walk, stm, nest, soac.lam)
        return None
    inside = walk.level is ir.Level.LOCAL
    order = [kind_of(each) for each in mappings(2, inside_group=inside)]
    if inside and flattener.within is Kind.OUTER:
        flattener.alone = True
        derivation.fired("G3", stm, f"inside a group: a work-item per point of {show_nest(nest)}")
        emit_with_nest(walk, stm, nest, outer_version(walk, nest, soac.lam))
        return None
    if inside and order[-1] is Kind.FLAT:
        derivation.fired("G3", stm, "inside a group: the flat version only")
        descend(walk, stm, nest, soac.lam)
        return None
    kinds = flattener.policy(Candidates(stm, soac.lam.body, obey_attributes(stm, frozenset(order)),
                                        len(walk.nest.space)))
    derivation.fired("G3", stm, f"versions over {show_nest(nest)}")
    site = flattener.site()
    with derivation.inside():
        outer = outer_version(walk, nest, soac.lam) if Kind.OUTER in kinds else None
        outer_guard = flattener.guard(stm, Kind.OUTER, len(nest.space), nest.par) if outer else None
        mark = len(derivation.steps)
        intra = _intragroup(walk, nest, soac.lam) if Kind.INTRA in kinds else None
        if isinstance(intra, str):
            derivation.dropped(mark)
            derivation.refused("G3 intra", stm, intra)
            intra = None
        intra_guard = _intra_guard(walk, stm, nest, intra) if intra else None
        deeper = _deeper(walk, stm, nest, soac.lam) if intra else []
        rows = _rows_alone(walk, stm, nest, soac.lam) if intra else None
        mark = len(derivation.steps)
        flat, parallel = (
            flattener.body(nest, soac.lam.body, soac.lam.ret) if Kind.FLAT in kinds else (None, 0))
        if flat and not parallel and (outer or intra):
            derivation.dropped(mark)
            derivation.refused("G3 flat", stm, "nothing inside can be distributed")
            flat = None
    host = walk.expanded_pat(stm.pat)
    built = dict[Kind, ir.Version]()
    if outer:
        built[Kind.OUTER] = ir.Version(outer_guard, Kind.OUTER,
                                       single_version(walk, host, outer, stm))
    if intra:
        body = single_version(walk, host, intra, stm)
        built[Kind.INTRA] = ir.Version(intra_guard, Kind.INTRA, body if rows is None else
                                       _divided(walk, host, stm, rows, body))
    if flat is not None:
        built[Kind.FLAT] = ir.Version(None, Kind.FLAT, flat)
    alternatives = [version for kind in order if kind in built for version in (
        built[kind], *(ir.Version(guard, kind, single_version(walk, host, group, stm))
                       for guard, group in deeper if kind is Kind.INTRA))]
    if not alternatives:
        fallback = outer_version(walk, nest, soac.lam)
        alternatives.append(ir.Version(None, Kind.OUTER, single_version(walk, host, fallback, stm)))
    _tell_mappings(walk, stm, nest, soac.lam, alternatives)
    emit_versions(walk, stm, host, site, alternatives)
    walk.bind(stm.pat, host)
    return None


def _tell_mappings(walk: Walk, stm: ir.Stm, nest: Nest, lam: ir.Lambda,
                   alternatives: Sequence[ir.Version]) -> None:
    """Note the mapping of each version: the levels of the loops of Σ, and of the loops inside."""
    around, chain = len(nest.space), perfect_chain(lam.body)
    inside: dict[Kind, str] = {}
    for levels in mappings(2):
        outer, inner = levels
        words = in_words((inner,) * len(chain)) or f"{in_words((inner,))} inside"
        inside[kind_of(levels)] = f"{in_words((outer,) * around)}, {words}"
    if len(chain) != 1:
        inside[Kind.FLAT] = f"{in_words((ir.Level.GRID,) * around)}, inside as below"
    for each in alternatives:
        *_, name = each.guard.key.split("/") if each.guard else ("",)
        further_one = f"{in_words((ir.Level.GROUP,) * around)}, {name.replace('-', ', ')}"
        words = further_one if not name.isdigit() and name else inside[each.kind]
        walk.flattener.derivation.happened("mapping", f"{each.kind.value} version", words, stm.loc)


def _deeper(walk: Walk, stm: ir.Stm, nest: Nest, lam: ir.Lambda) -> list[tuple[Guard, ir.SegMap]]:
    """The bodies of the further mappings of a perfect nest, each with its guard."""
    flattener, found = walk.flattener, list[tuple[Guard, ir.SegMap]]()
    chain = perfect_chain(lam.body)
    for levels in further_mappings(flattener.policy, chain):
        words = in_words((*(ir.Level.GROUP for _ in nest.space), *levels))
        mark = len(flattener.derivation.steps)
        flattener.derivation.fired("G3", stm, f"further version over groups: {words}")
        group = _intragroup(walk, nest, with_levels(lam, chain, levels))
        if isinstance(group, str):
            flattener.derivation.dropped(mark)
            flattener.derivation.refused(f"G3 {words}", stm, group)
            continue
        guard = _intra_guard(walk, stm, nest, group)
        name = "-".join(level.value if level else "sequential" for level in levels)
        found.append((replace(guard, key=f"{guard.key}/{name}"), group))
    return found


def emit_versions(walk: Walk, stm: ir.Stm, host: tuple[ir.Param, ...], site: str,
                  alternatives: list[ir.Version]) -> None:
    """Emit a single alternative by itself, or a ``Versions`` node of several."""
    last = alternatives[-1]
    alternatives[-1] = ir.Version(None, last.kind, last.body)
    if len(alternatives) > 1:
        versions = ir.Versions(site, tuple(alternatives), tuple(p.type for p in host))
        walk.emit(ir.Stm(host, versions, stm.attrs, stm.loc))
        return
    walk.emit_body(host, last.body)


def outer_version(walk: Walk, nest: Nest, lam: ir.Lambda) -> ir.SegMap:
    """e_top: one work-item per point, everything inside sequential."""
    return walk.segmap(nest.space, nest.kernel_body(lam.body.stms, lam.body.result), lam.ret)


def _rows_alone(walk: Walk, stm: ir.Stm, nest: Nest, lam: ir.Lambda
                ) -> tuple[Guard, ir.SegMap] | None:
    """e_middle with a work-item for each point of the maps inside, and its guard.

    None if the policy does without, or if it would be no different.
    """
    if not divides_groups(walk.flattener.policy):
        return None
    found = _intragroup(walk, nest, lam, Kind.OUTER)
    if isinstance(found, str):
        walk.flattener.derivation.refused("G3 intra", stm, found)
        return None
    return _intra_guard(walk, stm, nest, found), found


def _divided(walk: Walk, host: tuple[ir.Param, ...], stm: ir.Stm, rows: tuple[Guard, ir.SegMap],
             flat: ir.Body) -> ir.Body:
    """The body of e_middle that chooses: if t ≤ Par(rows) then rows else flat."""
    guard, groups = rows
    alternatives = (ir.Version(guard, Kind.INTRA, single_version(walk, host, groups, stm)),
                    ir.Version(None, Kind.INTRA, flat))
    versions = ir.Versions(walk.flattener.site(), alternatives, tuple(p.type for p in host))
    return single_version(walk, host, versions, stm)


def _intragroup(walk: Walk, nest: Nest, lam: ir.Lambda, within: Kind = Kind.FLAT
                ) -> ir.SegMap | str:
    """e_middle: one work-group per point, its body flattened over the work-items.

    Maps inside are of the kind ``within``.  If there is no such version, why not.
    """
    flattener = walk.flattener
    space, body = flattener.fresh_kernel(nest.space, nest.kernel_body(lam.body.stms,
                                                                      lam.body.result))
    inside_group = flattener.inside_group(within)
    with flattener.derivation.inside():
        group_body, _ = inside_group.body(Nest(), body)
    if within is Kind.OUTER and not inside_group.alone:
        return "there are no maps inside whose points could have a work-item each"
    if all(dim.width == i64(1) for inner in segop_spaces(group_body) for dim in inner):
        return "no operation inside can use the work-items of a group"
    inside = {*binders(group_body), *(dim.index for dim in space)}
    for inner in segop_spaces(group_body):
        for dim in inner:
            if dim.width in inside:
                return f"the width '{base_name(dim.width)}' is known only inside of the group"
    return ir.SegMap(ir.Level.GROUP, space, group_body, lam.ret)


def _intra_guard(walk: Walk, stm: ir.Stm, nest: Nest, intra: ir.SegMap) -> Guard:
    return walk.flattener.guard(stm, Kind.INTRA, len(nest.space), points_of_group(intra))


def single_version(walk: Walk, host: tuple[ir.Param, ...], exp: ir.Exp, stm: ir.Stm) -> ir.Body:
    """A body that is one statement, with fresh names."""
    pat = walk.flattener.copies(host)
    inner = ir.Stm(pat, exp, loc=stm.loc)
    walk.flattener.learn(inner)
    return ir.Body((inner,), tuple(p.name for p in pat))


def with_levels(lam: ir.Lambda, chain: Sequence[ir.Stm], levels: Levels) -> ir.Lambda:
    """``lam``, whose body is the perfect nest ``chain``, with its loops at these levels.

    One work-item runs the loops inside of the last local loop.  Every other sequential loop is a
    loop of the group.
    """
    last = max(place for place, level in enumerate(levels) if level is not None)
    return replace(lam, body=_marked(lam.body, chain, levels, last))


def _marked(body: ir.Body, chain: Sequence[ir.Stm], levels: Levels, left: int) -> ir.Body:
    """The body with an attribute at each loop up to the last local one, ``left`` loops inside."""
    (stm, *inner), (level, *below) = chain, levels
    if left == 0:
        marked = stm if not inner else replace(stm, attrs=(*stm.attrs, "sequential_inner"))
    else:
        assert isinstance(stm.exp, ir.Map)
        inside = _marked(stm.exp.lam.body, inner, tuple(below), left - 1)
        marked = replace(stm, exp=replace(stm.exp, lam=replace(stm.exp.lam, body=inside)))
        if level is None:
            marked = replace(marked, attrs=(*stm.attrs, "sequential_outer"))
    return replace(body, stms=tuple(marked if each is stm else each for each in body.stms))
