r"""Sums of lengths that are sizes, as ``flatmap`` has: facts about the lengths tell them, too.

A kernel that checks lengths and adds them leaves the sum to the facts::

    (m, r...) = segred ⟨i < n⟩ (+) 0 { l = ls[i]; assert l ≥ 0; s; l, e... }
    ⇒ r... = segmap ⟨i < n⟩ { l = ls[i]; assert l ≥ 0; s; e... };  m = (facts ls)[0]
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from runelift.ir import syntax as ir
from runelift.ir.base import failures
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.types import i64


class LengthSum(NamedTuple):
    """The operator ``number`` of a reduction, whose result ``place`` is the sum of ``lengths``."""

    number: int
    place: int
    lengths: VName


def sum_of_lengths(exp: ir.Exp) -> LengthSum | None:
    """The sum of lengths that a kernel finds, which fails if one of them is negative."""
    if not isinstance(exp, ir.SegRed) or exp.level is not ir.Level.GRID or len(exp.space) > 1:
        return None
    index = (exp.space[0].index,)
    read = {stm.pat[0].name: stm.exp.array for stm in exp.body.stms
            if isinstance(stm.exp, ir.Index) and stm.exp.dims == index}
    checked = {atom for stm in exp.body.stms if isinstance(stm.exp, ir.Assert)
               and stm.exp.message == failures.SIZE for atom in stm.exp.args}
    place = 0
    for number, operator in enumerate(exp.ops):
        atom = exp.body.result[place]
        if isinstance(atom, VName) and atom in read and atom in checked and (
                operator.primitive == ("add", Prim.I64) and operator.neutral == (i64(0),)):
            return LengthSum(number, place, read[atom])
        place += len(operator.neutral)
    return None


def without_sum(stm: ir.Stm, found: LengthSum) -> ir.Stm:
    """The statement without the sum."""
    exp, place = stm.exp, found.place
    assert isinstance(exp, ir.SegRed)
    ops = exp.ops[:found.number] + exp.ops[found.number + 1:]
    body = replace(exp.body, result=exp.body.result[:place] + exp.body.result[place + 1:])
    ret = exp.ret[:place] + exp.ret[place + 1:]
    rest = (replace(exp, ops=ops, body=body, ret=ret) if ops
            else ir.SegMap(exp.level, exp.space, body, ret))
    return replace(stm, pat=stm.pat[:place] + stm.pat[place + 1:], exp=rest)
