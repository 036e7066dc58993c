"""Packing: a scan of places and the scatter to them in one operation, as for ``filter``.

A filter is a scan that counts the kept elements, and a scatter that puts each into its place.  The
host waits for the last count between the two: the result is so long.  Here the kernels of the scan
write the elements themselves, into arrays as long as the input.  The last count goes into a buffer
of one element.  So the places are never in memory, and there is one launch fewer.  A partition into
several arrays has a count for each.

A scan is packed if its results are used for nothing but the scatter and the last counts.  The
scatter must need nothing that is made between, and elements must be cheap, as they are computed
twice.  On processors of hosts nothing is packed: there a scan without scattered writes is made of
vector instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from runelift.codegen.hostplan.dispatch import lower_packing
from runelift.codegen.hostplan.segops import SegOps
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import View, lit, row_major
from runelift.ir import syntax as ir
from runelift.ir.analysis.placement import SCRATCH
from runelift.ir.analysis.products import is_cheap
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import free_vars
from runelift.ir.types import Atom, Const, array_of, elem_of, i64, shape_of

FEW = 4
"""Results that fill less than this part of their memory are copied."""
LARGE_BYTES = 1 << 20
"""Smaller arrays are not copied: the copy would take longer than it is worth."""


@dataclass(frozen=True, slots=True)
class Packing:
    """A scan and its scatter; ``memory`` are the buffers of the destinations, by their names."""

    scan: ir.Stm
    scatter: ir.Stm
    memory: dict[VName, VName]

    @property
    def width(self) -> Atom:
        """The number of elements of the scan."""
        return _width(self.scan)


def packings(body: ir.Body, makers: Mapping[VName, ir.Stm]) -> dict[int, Packing]:
    """The packings of a body, by the identity of each statement that one changes.

    ``makers`` are the statements that bind names, in this body and around it.
    """
    found: dict[int, Packing] = {}
    scatters = [(place, stm) for place, stm in enumerate(body.stms)
                if isinstance(stm.exp, ir.SegScatter)]
    if not scatters:
        return found
    for first, stm in enumerate(body.stms):
        if not _is_scan(stm):
            continue
        for last, scatter in scatters:
            if first < last and _fit(body, first, last, makers):
                assert isinstance(scatter.exp, ir.SegScatter)
                arrays = [dest.array for dest in scatter.exp.dests]
                packing = Packing(stm, scatter, {})
                for changed in (stm, scatter, *(makers[array] for array in arrays)):
                    found[id(changed)] = packing
                break
    return found


def _is_scan(stm: ir.Stm) -> bool:
    """True if a statement scans sequences of scalars that cost little."""
    return (isinstance(stm.exp, ir.SegScan) and stm.exp.level is ir.Level.GRID
            and len(stm.exp.space) == 1 and not (stm.exp.post or stm.exp.backwards)
            and all(op.lam.ret == (Prim.I64,) for op in stm.exp.ops) and is_cheap(stm.exp.body)
            and all(len(shape_of(param.type)) == 1 for param in stm.pat))


def _fit(body: ir.Body, first: int, last: int, makers: Mapping[VName, ir.Stm]) -> bool:
    """True if the scan at place ``first`` and the scatter at ``last`` can be packed."""
    scan, scatter = body.stms[first], body.stms[last]
    exp, width, names = scatter.exp, _width(scan), {param.name for param in scan.pat}
    assert isinstance(exp, ir.SegScatter)
    if not (exp.level is ir.Level.GRID and len(exp.space) == 1 and exp.space[0].width == width):
        return False
    blanks = [makers.get(dest.array) for dest in exp.dests]
    if not all(blank is not None and _is_blank(blank, width, makers) for blank in blanks):
        return False
    if not all(any(blank is stm for stm in body.stms[first:last]) for blank in blanks):
        return False
    between = {param.name for stm in body.stms[first:last] for param in stm.pat}
    counts = {param.name for param in _counts(scan)}
    if not counts <= free_vars(exp.body) & between <= names:
        return False
    arrays = {dest.array for dest in exp.dests}
    return (arrays | names).isdisjoint(body.result) and all(
        stm is scatter or (arrays.isdisjoint(free_vars(stm)) and (
            names.isdisjoint(free_vars(stm)) or _reads_last(stm, scan, makers)))
        for stm in body.stms)


def _is_blank(stm: ir.Stm, width: Atom, makers: Mapping[VName, ir.Stm]) -> bool:
    """True for scratch memory of scalars whose length is a minimum with ``width``."""
    if not (isinstance(stm.exp, ir.Replicate) and SCRATCH in stm.attrs and len(stm.exp.shape) == 1
            and len(shape_of(stm.pat[0].type)) == 1):
        return False
    (count,) = stm.exp.shape
    made = makers.get(count) if isinstance(count, VName) else None
    return (made is not None and isinstance(made.exp, ir.PrimOp) and made.exp.op == "min"
            and width in made.exp.args)


def _reads_last(stm: ir.Stm, scan: ir.Stm, makers: Mapping[VName, ir.Stm]) -> bool:
    """True if a statement only reads last counts, if there are any."""
    counts, width = {param.name for param in _counts(scan)}, _width(scan)
    match stm.exp:
        case ir.Index(array, (last,)) if array in counts:
            return _is_last(last, width, makers)
        case ir.If(_, ir.Body(()), ir.Body(inner)):
            return all(_reads_last(each, scan, makers) for each in inner)
    return False


def _counts(scan: ir.Stm) -> Sequence[ir.Param]:
    """The results of a scan that are scanned, and not only mapped."""
    assert isinstance(scan.exp, ir.SegScan)
    return scan.pat[:len(scan.exp.ops)]


def _is_last(index: object, width: Atom, makers: Mapping[VName, ir.Stm]) -> bool:
    """True for the last index below ``width``."""
    match index, width:
        case Const(value), Const(count):
            return bool(value == count - 1)
        case VName(), _ if index in makers:
            exp = makers[index].exp
            return isinstance(exp, ir.PrimOp) and exp.op == "sub" and exp.args == (width, i64(1))
    return False


def _width(stm: ir.Stm) -> Atom:
    assert isinstance(stm.exp, ir.SegScan | ir.SegScatter)
    return stm.exp.space[0].width


@dataclass(slots=True)
class Packed(SegOps):
    """The steps of packings, in place of the steps of their statements.

    ``makers`` are the statements that bind names, in bodies so far.
    """

    makers: dict[VName, ir.Stm] = field(default_factory=dict)

    def packings_of(self, body: ir.Body) -> dict[int, Packing]:
        """The packings of a body, where the device gains by them."""
        if not self.interleave:
            return {}
        self.makers |= {param.name: stm for stm in body.stms for param in stm.pat}
        return packings(body, self.makers)

    def packed(self, stm: ir.Stm, packing: Packing) -> None:
        """Add the steps of a statement that belongs to a packing."""
        for param in stm.pat:
            self.types[param.name] = param.type
        if stm is packing.scan:
            self._pack(packing)
        elif stm is packing.scatter:
            self._hand_out(packing)
        else:  # scratch memory, which is there already
            (param,) = stm.pat
            self.bind_view(param, row_major(packing.memory[param.name], elem_of(param.type),
                                            self.shape(param.type)))

    def _pack(self, packing: Packing) -> None:
        """Add the scan of a packing, which also fills the destinations."""
        scan, scatter = packing.scan, packing.scatter
        exp, counts = scatter.exp, _counts(scan)
        assert isinstance(exp, ir.SegScatter)
        cells = [ir.Param(self.names.fresh("count"), array_of((i64(1),), Prim.I64)) for _ in counts]
        pat = list(cells)
        for dest, out in zip(exp.dests, scatter.pat, strict=True):
            room = ir.Param(self.names.fresh(out.name),
                         array_of((packing.width,), elem_of(out.type)))
            packing.memory[dest.array] = room.name
            pat.append(room)
        for param in pat:
            self.allocate(param)
        for param, cell in zip(counts, cells, strict=True):
            self.bind_view(param, View(Prim.I64, self.shape(param.type), cell.name,
                                       lambda _: lit(0)))
        packed = replace(scan, pat=tuple(pat))
        self.lowered(packed.pat, lambda parameters: lower_packing(
            packed, scan.pat, exp, self, self.names, parameters))

    def _hand_out(self, packing: Packing) -> None:
        """Bind the results of the scatter; few elements in large memory are copied."""
        exp = ir.node_of(packing.scatter, ir.SegScatter)
        for param, dest in zip(packing.scatter.pat, exp.dests, strict=True):
            self.emit(*self._fitting(param, packing.memory[dest.array], packing.width))
            self.owned[-1].add(param.name)
            self.bind_view(param, row_major(param.name, elem_of(param.type),
                                            self.shape(param.type)))

    def _fitting(self, param: ir.Param, room: VName, width: Atom) -> Iterator[plan.Step]:
        """Steps that bind a result to its memory, or to a copy."""
        prim, (count,) = elem_of(param.type), shape_of(param.type)
        names = [self.names.fresh(base) for base in ("times", "few", "large", "copied")]
        times, few, large, copied = names
        yield plan.Compute(times, "mul", Prim.I64, (count, i64(FEW)))
        yield plan.Compute(few, "lt", Prim.I64, (times, width))
        yield plan.Compute(large, "lt", Prim.I64, (i64(LARGE_BYTES // prim.bytes), width))
        yield plan.Compute(copied, "and", Prim.BOOL, (few, large))
        small = self.names.fresh(param.name)
        yield plan.Branch(copied, (
            plan.Alloc(small, prim, self.size(count)),
            plan.CopyBuffer(small, room, prim, self.size(count)),
            plan.Bind(param.name, small)), (plan.Bind(param.name, room),))
