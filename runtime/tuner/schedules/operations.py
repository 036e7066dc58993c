"""The scalar operations of a program on inputs of known sizes, before anything is compiled.

They say which rewrites save work: a sum that is hoisted out of a loop takes less time whatever the
device.  They say nothing about memory, so programs with about as many are not told apart.  To count
them takes a hundredth of a predicted time, so they say which programs are predicted first.
"""

from __future__ import annotations

from collections.abc import Mapping

from runelift.ir import syntax as ir
from runelift.ir.meaning import apply
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import bodies_inside
from runelift.ir.types import Atom, Const, shape_of

Known = dict[VName, int]
"""The values of i64s."""


def operations(fun: ir.Fun, sizes: Mapping[str, int]) -> float:
    """The operations of a function whose arguments have these sizes.

    An unknown size counts as 1.
    """
    known = {p.name: sizes[str(p.name)] for p in fun.params if str(p.name) in sizes}
    return _body(fun.body, known)


def _body(body: ir.Body, known: Known) -> float:
    return sum(_statement(stm, known) for stm in body.stms)


def _statement(stm: ir.Stm, known: Known) -> float:
    match stm.exp:
        case ir.AtomExp(atom):
            _learn(stm, known, _value(atom, known))
            return 0
        case ir.PrimOp(op, Prim.I64, args):
            values = [_value(each, known) for each in args]
            if None not in values and stm.pat[0].type is Prim.I64:
                _learn(stm, known, int(apply(op, Prim.I64, *values)))
            return 1
        case ir.PrimOp() | ir.Convert() | ir.Index() | ir.Update():
            return 1
        case (ir.Map(width=width) | ir.Redomap(width=width) | ir.Scanomap(width=width)
              | ir.Scatter(width=width) | ir.Hist(width=width) | ir.Accumulate(width=width)):
            return _times(width, known) * max(1, _inside(stm.exp, known))
        case ir.Loop(form=ir.ForLoop(bound=bound), body=body):
            return _times(bound, known) * _body(body, known)
        case ir.If(then_=then_, else_=else_):
            return max(_body(then_, known), _body(else_, known))
        case ir.Iota() | ir.Replicate() | ir.Copy() | ir.Concat():
            total = 1.0
            for size in shape_of(stm.pat[0].type):
                total *= _times(size, known)
            return total
    return _inside(stm.exp, known)


def _inside(exp: ir.Exp, known: Known) -> float:
    return sum(_body(body, known) for body in bodies_inside(exp))


def _learn(stm: ir.Stm, known: Known, value: int | None) -> None:
    if value is not None:
        known[stm.pat[0].name] = value


def _value(atom: Atom, known: Known) -> int | None:
    if isinstance(atom, Const):
        return int(atom.value) if isinstance(atom.value, int) else None
    return known.get(atom)


def _times(atom: Atom, known: Known) -> float:
    """A number of times, if it is known."""
    value = _value(atom, known)
    return 1.0 if value is None else max(0.0, float(value))
