"""Segments: the descriptor of an inner width that differs between the points of Σ.

A descriptor is a set of ordinary arrays and scalars, each made by a statement of the host where a
rule first needs it.  Points of Σ have a flat number, row-major::

    len : [n]i64       the width at each point
    total, longest     facts, of one pass: the sum and the maximum of the lengths
    off : [n+1]i64     where each segment begins: an exclusive scan of the lengths
    own : [m]i32       the segment of each element: a scan that knows the offsets

So Σ ▷ l, the points of all segments, is the ordinary space ⟨p < m⟩ with i := own[p] and
j := p − off[i].  A length below 0 counts as 0 in all of them: a check of Σ fails there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import REPEATABLE
from runelift.ir.base import failures
from runelift.ir.names import VName
from runelift.ir.operators import one_operation
from runelift.ir.prim import Prim
from runelift.ir.ragged import Fact, Ragged, Sharing
from runelift.ir.traverse import statements_inside
from runelift.ir.types import Atom, Const, array_of, as_name, elem_of, i64, shape_of, zero
from runelift.rewrite.engine.scalar_code import is_scalar_code
from runelift.rewrite.engine.scope import whole
from runelift.rewrite.flatten.code import Code
from runelift.rewrite.flatten.nest import Elements, Facts, Nest, Segments

if TYPE_CHECKING:
    from runelift.rewrite.flatten.walk import Walk


MOST_SEGMENTS = 2**31 - 1
"""The most segments whose numbers an i32 has."""


def segments_of(walk: Walk, width: VName) -> Segments:
    """The descriptor of a width that differs between the points of Σ; its facts are emitted."""
    if (known := walk.nest.segments.get(width)) is not None:
        return known
    facts = _computed_facts(walk, width)
    if facts is None and walk.flattener.lifted:
        fused = _fused_lengths(walk, width) or _scanned_map(walk, width)
        if fused is not None:
            return fused
    lengths, count = walk.expand_flat(width, Prim.I64), walk.points_of()
    if facts is None:
        # the host waits for the total, and ends there if a length is wrong
        walk.make_known(frozenset(), checks=True)
    if facts is not None:
        _tell(walk, "facts", lengths, "computed by the host")
    elif not walk.flattener.lifted:
        facts = facts_of(walk, lengths)
        _tell(walk, "facts", lengths, "one pass over the lengths")
    if facts is not None:
        return _known(walk, width, Segments(count, lengths, facts[0], Facts(*facts[1:])))
    # no version of a lifted function asks for more than the total, which offsets have
    offsets = _offsets(walk, count, lengths)
    return _known(walk, width, Segments(
        count, lengths, total_of(walk, offsets, count), offsets=offsets))


def _tell(walk: Walk, part: str, lengths: VName, how: str) -> None:
    """Note that a part of a descriptor is made here."""
    walk.flattener.derivation.happened("descriptor", f"{part} of {lengths.base}", how, walk.loc)


def _known(walk: Walk, width: VName, found: Segments) -> Segments:
    """The descriptor of a width, which Σ has from now on."""
    walk.nest = walk.nest.with_segments(width, found)
    return found


def _fused_lengths(walk: Walk, width: VName) -> Segments | None:
    """The descriptor of a width that the scan of the lengths computes, with what waits for it.

    Law: scan ⊕ (map f xs) = scanomap ⊕ f xs, which also gives map f xs.  None for a width that is
    stored, and if more than scalar code waits.
    """
    waits = any(p.name == width for stm in walk.pending for p in stm.pat)
    if (not waits and walk.nest.expanded(width) is not None) or not is_scalar_code(walk.pending):
        return None
    count = walk.points_of()
    pending, walk.pending = walk.pending if waits else [], [] if waits else walk.pending
    kept = [p for stm in pending for p in stm.pat if p.name != width and walk.is_used_later(p.name)]
    pat = (ir.Param(width, Prim.I64), *kept)
    number, over = by_number(walk)
    body = over.kernel_body(tuple(pending), tuple(p.name for p in pat))
    ends = ends_of(walk, count)
    host = tuple(walk.fresh(p.name, array_of((ends,), p.type)) for p in pat)
    (offsets,) = exclusive_scans(walk, number, replace(
        body, result=(width, *body.result)), ends, host)
    behind = walk.definitions.computed("add", define_number(walk), i64(1), base="behind")
    walk.nest = walk.nest.define(ir.Stm((p,), ir.Index(array.name, (behind,)), loc=walk.loc)
                                 for p, array in zip(pat, host, strict=True))
    lengths = walk.part_of(host[0].name, i64(1), array_of((count,), Prim.I64))
    return _known(walk, width, Segments(
        count, lengths, total_of(walk, offsets, count), offsets=offsets))


def _scanned_map(walk: Walk, width: VName) -> Segments | None:
    """The descriptor of a width that a map of the host computes: its scan takes the map's place.

    None for other widths, and for maps of more than scalar code.
    """
    array = walk.nest.expanded(width)
    place = next((place for place, stm in enumerate(walk.out) if any(
        p.name == array for p in stm.pat)), None)
    if array is None or place is None or len(walk.nest.space) > 1:
        return None
    stm, rest = walk.out[place], walk.out[place + 1:]
    exp = stm.exp
    if not isinstance(exp, ir.SegMap) or exp.space[0].width != walk.nest.widths[0] or not all(
            isinstance(each, Prim) for each in exp.ret) or not is_scalar_code(
                each for each in exp.body.stms if not isinstance(each.exp, ir.VIEWS)):
        return None
    del walk.out[place:]
    (dim,), count = exp.space, walk.nest.widths[0]
    ends = ends_of(walk, count)
    host = tuple(walk.fresh(p.name, array_of((ends,), elem_of(p.type))) for p in stm.pat)
    results = dict(zip((p.name for p in stm.pat), exp.body.result, strict=True))
    (offsets,) = exclusive_scans(walk, dim.index, replace(exp.body, result=(
        results[array], *exp.body.result)), ends, host)
    total = total_of(walk, offsets, count)
    behind = {p.name: h.name for p, h in zip(stm.pat, host, strict=True)}
    for param in stm.pat:
        walk.emit(ir.Stm((param,), ir.Index(behind[param.name], (
            ir.SliceDim(i64(1), count, i64(1)),))))
    walk.out += rest
    after = walk.definitions.computed("add", walk.nest.indices[0], i64(1), base="behind")
    walk.nest = walk.nest.define(
        replace(each, exp=ir.Index(behind[each.exp.array], (after,)))
        for each in walk.nest.defs.values() if isinstance(each.exp, ir.Index)
        and each.exp.array in behind and each.exp.dims == walk.nest.indices)
    return _known(walk, width, Segments(count, array, total, offsets=offsets))


def total_of(walk: Walk, offsets: VName, count: Atom, base: str = "total") -> VName:
    """The total at the end of an exclusive scan over so many points."""
    return walk.emitted(base, Prim.I64, ir.Index(offsets, (count,)))


def with_facts(walk: Walk, width: VName) -> Segments:
    """The descriptor of a width, with all facts."""
    found = segments_of(walk, width)
    return found if found.facts is not None else _known(walk, width, replace(
        found, facts=Facts(*facts_of(walk, found.lengths)[1:])))


def ragged_of(segments: Segments, sharing: Sharing) -> Ragged:
    """The width of the dimension over the elements of a segment, which ``sharing`` executes."""
    facts = segments.facts
    return Ragged(segments.lengths, segments.total, segments.offsets, sharing,
                  facts and facts.longest,
                  facts and facts.squares if sharing is Sharing.MERGE else None)


def with_offsets(walk: Walk, width: VName) -> Segments:
    """The descriptor of a width, with the places where segments begin."""
    found = segments_of(walk, width)
    if found.offsets is not None:
        return found
    offsets = _offsets(walk, found.count, found.lengths)
    _tell(walk, "off", found.lengths, "where each row begins, by a scan of the lengths")
    return _known(walk, width, replace(found, offsets=offsets))


def with_owners(walk: Walk, width: VName) -> Segments:
    """The descriptor of a width, with offsets and the segment of each element."""
    found = with_offsets(walk, width)
    if found.owners is not None:
        return found
    owners = _beside_scan(walk, found)
    if owners is None:
        owners = _emit_owners(walk, found, ragged_nest(walk, found, Sharing.FLAT), ir.Body((), ()))
    return _known(walk, width, replace(found, owners=owners))


def by_number(walk: Walk, nest: Nest | None = None) -> tuple[VName, Nest]:
    """Σ, or ``nest``, without dimensions: its indices are computed of a flat number; the number."""
    nest = nest or walk.nest
    if len(nest.space) == 1:
        return nest.indices[0], Nest((), nest.defs)
    number = rest = walk.fresh("point", Prim.I64).name
    code = Code(walk.flattener)
    for dim in reversed(nest.space[1:]):
        code.name(dim.index, ir.PrimOp("rem", Prim.I64, (rest, dim.width)))
        rest = code.computed("quot", rest, dim.width, base="above")
    code.name(nest.indices[0], ir.AtomExp(rest))
    return number, Nest((), nest.defs).define(code.out)


def define_number(walk: Walk) -> VName:
    """The flat number of a point of Σ, as a definition of Σ."""
    (number, *rest), sigma = walk.nest.indices, walk.definitions
    for index, dim in zip(rest, walk.nest.space[1:], strict=True):
        row = sigma.computed("mul", number, dim.width, base="row")
        number = sigma.computed("add", row, index, base="point")
    return number


def elements_nest(walk: Walk, width: VName) -> Elements:
    """Σ ▷ width as a space of one dimension, by way of the owners."""
    found = with_owners(walk, width)
    assert found.owners is not None
    number, nest = by_number(walk)
    place, code = walk.fresh("p", Prim.I64).name, Code(walk.flattener)
    code.name(number, ir.Convert(Prim.I32, Prim.I64, code.read(found.owners, place)))
    start = code.read(found.starts, number, base="start")
    index = code.computed("sub", place, start, base="j")
    inside = Nest((ir.SegDim(place, found.total),), nest.defs)
    return Elements(inside.define(code.out), number, index)


def ragged_nest(walk: Walk, found: Segments, sharing: Sharing) -> Elements:
    """Σ ▷ width as a space whose last dimension is ragged; points of Σ are numbered."""
    number, nest = by_number(walk)
    index = walk.fresh("j", Prim.I64).name
    return Elements(Nest((ir.SegDim(number, found.count),
                          ir.SegDim(index, ragged_of(found, sharing))), nest.defs), number, index)


def over_elements(walk: Walk, width: VName, like: Sequence[ir.Param],
                  element: Callable[[Elements], ir.Body], attrs: tuple[str, ...] = ()
                  ) -> tuple[ir.Param, ...]:
    """Σ ▷ width ⊢ e, as flat arrays of scalars that are named ``like`` others.

    Law: scan max own = own, as all elements of a segment have the same owner.  So the pass that
    finds the owners also makes the elements, unless owners are known.
    """
    found = with_offsets(walk, width)
    pat = tuple(walk.fresh(p.name, array_of((found.total,), elem_of(p.type))) for p in like)
    ret = tuple(elem_of(p.type) for p in like)
    if found.owners is None and _scan_of(walk, found) is None:
        inner = ragged_nest(walk, found, Sharing.FLAT)
        body = element(inner)
        if not _makes_arrays(body):
            owners = _emit_owners(walk, found, inner, body, pat, attrs)
            _known(walk, width, replace(found, owners=owners))
            return pat
    inner = elements_nest(walk, width)
    walk.emit(ir.Stm(pat, walk.segmap(inner.nest.space, element(inner), ret), attrs))
    return pat


def _makes_arrays(body: ir.Body) -> bool:
    """True if a body needs memory for arrays, which scans do not give to their elements."""
    return any(shape_of(p.type) and not isinstance(stm.exp, ir.VIEWS)
               for stm in statements_inside([body]) for p in stm.pat)


def start_of(walk: Walk, size: Atom) -> VName:
    """The place of a point's first element among all elements of arrays of a size.

    It is a definition of Σ.
    """
    if walk.differs(size):
        starts = with_offsets(walk, size).starts
        return walk.definitions.read(starts, define_number(walk), base="start")
    return walk.definitions.computed("mul", define_number(walk), size, base="start")


def bind_parts(walk: Walk, pat: Sequence[ir.Param], host: Sequence[ir.Param], width: VName
               ) -> None:
    """Bind names to the parts of flat arrays that belong to a segment."""
    start = start_of(walk, width)
    walk.nest = walk.nest.define(
        ir.Stm((param,), ir.Index(array.name, (
            ir.SliceDim(start, width, i64(1)), *map(whole, shape_of(param.type)[1:]))),
               loc=walk.loc)
        for param, array in zip(pat, host, strict=True))


def bind_packed(walk: Walk, param: ir.Param, host: VName) -> None:
    """Bind a name to its elements at each point; ``host`` has the elements of all points."""
    (size,) = shape_of(param.type)
    if walk.differs(size):
        bind_parts(walk, [param], [ir.Param(host, walk.flattener.types[host])], size)
    else:
        shaped = array_of(walk.nest.widths, param.type)
        walk.bind([param], [ir.Param(walk.emitted(
            param.name, shaped, ir.Reshape(shape_of(shaped), host)), shaped)])


def flat_array(walk: Walk, array: VName, width: VName) -> VName:
    """The elements of all segments of an array of scalars, one segment after the other."""
    found = with_offsets(walk, width)
    type_ = walk.flattener.types[array]
    flat = array_of((found.total,), elem_of(type_))
    definition = walk.nest.defs.get(array)
    match definition:
        case ir.Stm(_, ir.Index(origin, (ir.SliceDim(start, count, stride),))) if (
                count == width and stride == i64(1) and isinstance(start, VName)
                and walk.nest.defs[start].exp == ir.Index(found.offsets or origin, (
                    define_number(walk),))
                and walk.flattener.types[origin] == flat):
            return origin
        case ir.Stm(_, ir.Replicate((count,), value), attrs) if (
                count == width and walk.invariant(value)):
            return walk.emitted(array.base, flat, ir.Replicate((found.total,), value), attrs)
    (param,) = over_elements(
        walk, width, (ir.Param(array, type_),),
        lambda inner: inner.kernel_body(element_of(walk, inner.nest, array, inner.at)))
    return param.name


def element_of(walk: Walk, nest: Nest, array: VName, index: VName) -> ir.Body:
    """The element of an array of scalars at an index, where the nest defines the array."""
    match nest.defs.get(array):
        case ir.Stm(_, ir.Concat(_, arrays, _)):
            return concat_element(walk, nest, arrays, index)
    element = walk.fresh(array, elem_of(walk.flattener.types[array]))
    return ir.Body((nest.element(element, array, index, walk.loc),), (element.name,))


def concat_element(walk: Walk, nest: Nest, arrays: Sequence[VName], index: VName) -> ir.Body:
    """The element of a concatenation of arrays at an index."""
    here = element_of(walk, nest, arrays[0], index)
    if len(arrays) == 1:
        return here
    type_, code, after = walk.flattener.types[arrays[0]], Code(walk.flattener), Code(walk.flattener)
    (length,) = shape_of(type_)
    rest = concat_element(walk, nest, arrays[1:],
                          after.computed("sub", index, length, base="after"))
    inside = code.holds("lt", index, length)
    return code.as_body(*code.chosen(
        inside, here, ir.Body((*after.out, *rest.stms), rest.result), (elem_of(type_),), "x"))


class Packed(NamedTuple):
    """The arrays of scalars of all points in one, of ``total`` elements."""

    data: VName
    total: Atom


def packed(walk: Walk, array: VName) -> Packed:
    """The elements of all points of an array of scalars, one point after the other."""
    type_ = walk.flattener.types[array]
    (size,) = shape_of(type_)
    if walk.differs(size):
        return Packed(flat_array(walk, array, size), segments_of(walk, size).total)
    whole_array = as_name(walk.expand(array, type_))
    total = number_of_elements(walk, size)
    return Packed(walk.emitted(array.base, array_of((total,), elem_of(type_)),
                          ir.Reshape((total,), whole_array)), total)


def number_of_elements(walk: Walk, size: Atom) -> Atom:
    """The number of elements at all points of Σ together, of arrays of a size."""
    if walk.differs(size):
        return segments_of(walk, size).total
    for width in walk.nest.widths:
        size = walk.product(size, width)
    return size


def _computed_facts(walk: Walk, width: VName) -> list[VName] | None:
    """The facts about lengths l, l + c or c l, which the host computes from the facts about l.

    None for other lengths.  Facts about l are known, or l is 0, 1, 2, ...  c is a number, at least
    0; in a sum it may be a size of the host.
    """
    if _counts(walk, width):
        return _facts_of_indices(walk)
    match walk.nest.defs.get(width):
        case ir.Stm(_, ir.PrimOp("add" | "mul" as op, Prim.I64, (a, b))):
            lengths, other = (a, b) if a in walk.nest.segments or _counts(walk, a) else (b, a)
        case _:
            return None
    if int(other.value) < 0 if isinstance(other, Const) else op == "mul" or not _is_size(
            walk, other):
        return None
    known = walk.nest.segments.get(lengths) if isinstance(lengths, VName) else None
    if known is not None and known.facts is not None:
        total, longest, live, squares = known.total, *known.facts
    elif _counts(walk, lengths):
        total, longest, live, squares = _facts_of_indices(walk)
    else:
        return None

    compute, count = walk.computed, walk.points_of()
    other = compute("max", other, i64(0))  # a size below 0 fails, but perhaps later
    some = compute("min", other, i64(1))
    if op == "mul":
        square = compute("mul", other, other)
        return [compute("mul", total, other, base="total"),
                compute("mul", longest, other, base="longest"),
                compute("mul", live, some, base="live"),
                compute("mul", squares, square, base="squares")]
    more, one = compute("mul", count, other), compute("min", count, i64(1))
    mixed = compute("mul", compute("add", compute("add", total, total), more), other)
    return [compute("add", total, more, base="total"),
            compute("mul", compute("add", longest, other), one, base="longest"),
            compute("max", live, compute("mul", count, some), base="live"),
            compute("add", squares, mixed, base="squares")]


def _facts_of_indices(walk: Walk) -> list[VName]:
    """The facts about the lengths 0, 1, 2, ..., as many as Σ has points."""
    compute, (count,) = walk.computed, walk.nest.widths
    last = compute("sub", count, i64(1))
    pairs, longest = compute("mul", count, last), compute("max", last, i64(0), base="longest")
    cubes = compute("mul", pairs, compute("add", count, last))
    return [compute("quot", pairs, i64(2), base="total"), longest, longest,
            compute("quot", cubes, i64(6), base="squares")]


def _is_size(walk: Walk, name: VName) -> bool:
    """True if a name is a size of arrays that the host knows."""
    return walk.invariant(name) and any(
        name in shape_of(type_) for type_ in walk.flattener.types.values())


def _counts(walk: Walk, atom: Atom) -> bool:
    """True if an atom is the index of the only dimension of Σ, perhaps by way of an iota."""
    if walk.nest.indices == (atom,):
        return True
    match walk.nest.defs.get(atom) if isinstance(atom, VName) else None:
        case ir.Stm(_, ir.Index(array, (index,))) if walk.nest.indices == (index,):
            made = walk.flattener.host_defs.get(array)
            return made is not None and isinstance(made.exp, ir.Iota) and (
                made.exp.start, made.exp.step) == (i64(0), i64(1))
    return False


def facts_of(code: Code, lengths: VName) -> list[VName]:
    """The sum and maximum of the lengths, how many are above 0, and the sum of their squares."""
    facts = code.emitted("facts", array_of((i64(len(Fact)),), Prim.I64), ir.LengthFacts(lengths))
    return [code.read(facts, i64(fact), base=fact.name.lower()) for fact in Fact]


def ends_of(walk: Walk, count: Atom) -> VName:
    """The number of offsets."""
    return walk.computed("add", count, i64(1), base="ends")


def _offsets(walk: Walk, count: Atom, lengths: VName) -> VName:
    """The exclusive scan of the lengths, with the total at the end."""
    point, code = walk.fresh("i", Prim.I64).name, Code(walk.flattener)
    (offsets,) = exclusive_scans(
        walk, point, code.as_body(code.read(lengths, point, base="length")), ends_of(walk, count))
    return offsets


def exclusive_scans(walk: Walk, point: VName, body: ir.Body, ends: VName,
                    stored: tuple[ir.Param, ...] = ()) -> tuple[VName, ...]:
    """The exclusive scans of results of ``body`` at points, with the totals at the end.

    A result below 0 counts as 0.  The last results of ``body`` are ``stored`` in arrays, one place
    behind their points.
    """
    names, code, inside = walk.flattener.names, Code(walk.flattener), Code(walk.flattener)
    count, index = len(body.result) - len(stored), names.fresh("i")
    types = (*[Prim.I64] * count, *(elem_of(p.type) for p in stored))
    inside.name(point, ir.PrimOp("sub", Prim.I64, (index, i64(1))))
    inside.emit(*body.stms)
    least = [inside.computed("max", atom, i64(0), base="length") for atom in body.result[:count]]
    some = code.holds("lt", i64(0), index, base="some")
    values = code.chosen(some, inside.as_body(*least, *body.result[count:]),
                         ir.Body((), tuple(map(zero, types))), types)
    space, scanned = walk.flattener.fresh_kernel((ir.SegDim(index, ends),), code.as_body(*values))
    offsets = tuple(walk.fresh("off", array_of((ends,), Prim.I64)) for _ in range(count))
    walk.emit(ir.Stm((*offsets, *stored), ir.SegScan(
        ir.Level.GRID, space, tuple(one_operation(names, "add", i64(0)) for _ in offsets),
        scanned, types), (REPEATABLE,)))
    return tuple(p.name for p in offsets)


def _emit_owners(walk: Walk, found: Segments, inner: Elements, body: ir.Body,
                 pat: tuple[ir.Param, ...] = (), attrs: tuple[str, ...] = ()) -> VName:
    """The owners of elements, as one pass over the offsets writes them.

    It also makes ``pat``, as ``body`` computes an element.
    """
    _check_few(walk, found)
    _tell(walk, "own", found.lengths, "the row of each element, by a pass over where rows begin")
    owner = _owner(walk, inner.number)
    space, body = walk.flattener.fresh_kernel(inner.nest.space, ir.Body(
        (owner, *body.stms), (owner.pat[0].name, *body.result)))
    owners = walk.fresh("own", array_of((found.total,), Prim.I32))
    greatest = one_operation(walk.flattener.names, "max", Const(0, Prim.I32))
    walk.emit(ir.Stm((owners, *pat), ir.SegScan(ir.Level.GRID, space, (greatest,), body, (
        Prim.I32, *(elem_of(p.type) for p in pat))), attrs))
    return owners.name


def _owner(walk: Walk, number: VName) -> ir.Stm:
    """The number of a segment as an owner of elements."""
    own = walk.fresh("own", Prim.I32)
    return ir.Stm((own,), ir.Convert(Prim.I64, Prim.I32, number))


def _check_few(walk: Walk, found: Segments) -> None:
    """Emit the check that owners have numbers of segments."""
    few = walk.holds("lt", found.count, i64(MOST_SEGMENTS + 1), base="few")
    walk.emit(ir.Stm((), ir.Assert(few, failures.SEGMENTS, (found.count,))))


def _scan_of(walk: Walk, found: Segments) -> int | None:
    """The place of a scan over all elements among the statements of the walk, if there is one."""
    wanted = ragged_of(found, Sharing.FLAT)
    return next((place for place, stm in enumerate(walk.out) if isinstance(stm.exp, ir.SegScan)
                 and stm.exp.space[-1].ragged == wanted), None)


def _beside_scan(walk: Walk, found: Segments) -> VName | None:
    """The owners as a further result of a scan over all elements; None if there is no scan."""
    if (place := _scan_of(walk, found)) is None:
        return None
    rest, exp = walk.out[place + 1:], (stm := walk.out[place]).exp
    assert isinstance(exp, ir.SegScan)
    owner = _owner(walk, exp.space[0].index)
    owners = walk.fresh("own", array_of((found.total,), Prim.I32))
    del walk.out[place:]
    _check_few(walk, found)
    _tell(walk, "own", found.lengths, "the row of each element, beside a scan")
    walk.emit(replace(stm, pat=(*stm.pat, owners), exp=replace(
        exp, body=ir.Body((*exp.body.stms, owner), (*exp.body.result, owner.pat[0].name)),
        ret=(*exp.ret, Prim.I32))))
    walk.out += rest
    return owners.name
