"""A walk over bodies, inner bodies first, for passes that look at several statements at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.names import VName
from runelift.ir.traverse import body_of, lambda_of, map_inside, stm_of
from runelift.ir.types import Atom
from runelift.rewrite.engine.rule import Rewriting


def each_body(program: ir.Program, change: Callable[[ir.Body], ir.Body]) -> ir.Program:
    """A program after a change of the body of each function."""
    return ir.Program(tuple(replace(fun, body=change(fun.body)) for fun in program.funs))


def in_bodies_of_host(exp: ir.Exp, change: Callable[[ir.Body], ir.Body]) -> ir.Exp:
    """An expression with a change of the bodies inside that the host runs; kernels stay."""
    if isinstance(exp, ir.If | ir.Loop | ir.Recursion | ir.Versions):
        return map_inside(exp, change, lambda lam: lam)
    return exp


def each_at_host(body: ir.Body, change: Callable[[ir.Stm], tuple[ir.Stm, ...]]) -> ir.Body:
    """A body of the host after a change of each statement; bodies inside are changed before."""
    def changed(stm: ir.Stm) -> tuple[ir.Stm, ...]:
        return change(stm_of(stm, in_bodies_of_host(
            stm.exp, lambda inner: each_at_host(inner, change))))

    return body_of(body, [new for stm in body.stms for new in changed(stm)], body.result)


class OutwardWalk:
    """A walk whose ``rewritten`` sees a body's statements when all bodies inside are done.

    ``defs`` are the statements that made the names of this body and of the bodies before.
    """

    def __init__(self, rewriting: Rewriting) -> None:
        """Begin with nothing defined."""
        self.rewriting = rewriting
        self.defs: dict[VName, ir.Stm] = {}

    def rewritten(self, stms: list[ir.Stm], result: tuple[Atom, ...]) -> list[ir.Stm]:
        """The statements of a body with this result, rewritten."""
        raise NotImplementedError

    def lambda_(self, lam: ir.Lambda) -> ir.Lambda:
        """A lambda with its body rewritten."""
        return lambda_of(lam, lam.params, self.body(lam.body), lam.ret)

    def body(self, body: ir.Body) -> ir.Body:
        """A body, its inner bodies first."""
        stms: list[ir.Stm] = []
        for stm in body.stms:
            new = stm_of(stm, map_inside(stm.exp, self.body, self.lambda_))
            self.defs |= {p.name: new for p in new.pat}
            stms.append(new)
        return body_of(body, self.rewritten(stms, body.result), body.result)
