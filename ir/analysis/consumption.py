"""Consumed arrays: an in-place operation may reuse the memory of each of them.

The meaning of a program is by value, so consumption never decides whether a rewrite is right.  It
decides whether a rewrite is good.  A consumed array that lives longer turns an update in place into
a copy of the whole array.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.traverse import bodies_of, free_vars, lambdas_of
from runelift.ir.types import Atom


def consumed_names(program: ir.Program) -> frozenset[VName]:
    """All names whose arrays are consumed, under whatever alias."""
    consumed: set[VName] = set()
    for fun in program.funs:
        _body(fun.body, consumed)
    return frozenset(consumed)


def consumed_by(stm: ir.Stm) -> set[VName]:
    """The names that ``stm`` consumes, including names bound inside of it."""
    consumed: set[VName] = set()
    _statement(stm, consumed)
    return consumed


def consumed_in(body: ir.Body) -> set[VName]:
    """The names that ``body`` consumes, with all their aliases, including names bound in it."""
    consumed: set[VName] = set()
    _body(body, consumed)
    return consumed


def view_of(exp: ir.Exp) -> VName | None:
    """The array whose memory the value of ``exp`` shares."""
    match exp:
        case ir.AtomExp(VName() as array) | ir.Rearrange(_, array) | ir.Reshape(_, array):
            return array
        case ir.Slide(array=array) | ir.Pad(array=array):
            return array
        case ir.Index(array, dims) if any(isinstance(d, ir.SliceDim) for d in dims):
            return array
    return None


def root_of(name: VName, defs: Mapping[VName, ir.Stm]) -> VName:
    """The array that ``name`` is a view of, through any number of views."""
    while (stm := defs.get(name)) is not None and (array := view_of(stm.exp)) is not None:
        name = array
    return name


def idle_copies(body: ir.Body) -> set[VName]:
    """The copies in ``body`` that are as good as views.

    Nothing consumes what they copy until they are used for the last time, and they get no further
    name.  An operation that changes one makes a copy anyway, as the meaning is by value.
    """
    defs = {p.name: stm for stm in body.stms for p in stm.pat}
    found: set[VName] = set()
    for place, stm in enumerate(body.stms):
        if not isinstance(stm.exp, ir.Copy):
            continue
        (param,) = stm.pat
        uses = [k for k, later in enumerate(body.stms[place + 1:], place + 1)
                if param.name in free_vars(later)]
        if param.name in body.result or any(view_of(body.stms[k].exp) == param.name for k in uses):
            continue
        root = root_of(stm.exp.array, defs)
        if not any(root_of(name, defs) == root
                   for between in body.stms[place + 1:max(uses, default=place) + 1]
                   for name in consumed_by(between)):
            found.add(param.name)
    return found


def _body(body: ir.Body, consumed: set[VName]) -> None:
    for stm in reversed(body.stms):
        _statement(stm, consumed)


def _statement(stm: ir.Stm, consumed: set[VName]) -> None:
    """Add the arrays that ``stm`` consumes; ``consumed`` has those consumed after it."""
    exp = stm.exp
    if isinstance(exp, ir.PrimOp):  # by far the most
        return
    if (array := view_of(exp)) is not None:
        if stm.pat[0].name in consumed:
            consumed.add(array)
        return
    match exp:
        case ir.If() | ir.Versions():
            for body in bodies_of(exp):
                _pass_on(stm.pat, body.result, consumed)
        case ir.Loop(params, _, body):
            carried = [p.param for p in params]
            _pass_on(stm.pat, body.result, consumed)
            _pass_on(stm.pat, tuple(p.init for p in params), consumed)
            _body(body, consumed)
            _pass_on(carried, body.result, consumed)
            _pass_on(carried, tuple(p.init for p in params), consumed)
            return
        case ir.Update(array):
            consumed.add(array)
        case ir.Scatter(dests=dests) | ir.SegScatter(dests=dests):
            consumed.update(dest.array for dest in dests)
        case ir.Hist(ops=ops) | ir.SegHist(ops=ops):
            consumed.update(dest for op in ops for dest in op.dests)
        case ir.Accumulate(dests=into) | ir.SegAccumulate(dests=into):
            consumed.update(into)
    for body in bodies_of(exp):
        _body(body, consumed)
    for lam in lambdas_of(exp):
        _body(lam.body, consumed)
    if isinstance(exp, ir.SOACS):
        _pass_on(exp.lam.params, exp.arrays, consumed)


def _pass_on(params: Iterable[ir.Param], atoms: tuple[Atom, ...], consumed: set[VName]) -> None:
    """Consume the arguments of parameters that are consumed."""
    for param, atom in zip(params, atoms, strict=True):
        if param.name in consumed and isinstance(atom, VName):
            consumed.add(atom)
