"""The backward walk: unused code is dropped, from the end of each body to its start."""

from __future__ import annotations

from dataclasses import replace

from runelift.ir.names import VName
from runelift.ir.syntax import Body, Fun, Lambda, Loop, Program, Stm
from runelift.ir.traverse import Mapper, body_of, is_flat, lambda_of, map_exp, stm_of, uses
from runelift.rewrite.engine.pick import names_in
from runelift.rewrite.engine.rule import MOST_REWRITES, Rewriting
from runelift.rewrite.engine.scope import Scope
from runelift.rewrite.rules.unused import UNUSED, UNUSED_INPUTS, sizes_of


def remove_unused(program: Program, rewriting: Rewriting) -> Program:
    """``program`` without statements, results, loop parameters and inputs that are never used."""
    walk = BackwardWalk(rewriting)
    return Program(tuple(walk.fun(fun) for fun in program.funs))


class BackwardWalk:
    """The state of a walk: ``scope.live`` has the names used after the present statement.

    Binders are unique, so one set serves all bodies.
    """

    def __init__(self, rewriting: Rewriting) -> None:
        self.rewriting = rewriting
        self.scope = Scope(rewriting.names)
        self.live: set[VName] = self.scope.live
        self.deep = Mapper(lambda a: a, lambda name: name, self.body, self.lambda_)

    def fun(self, fun: Fun) -> Fun:
        """The function without code that its results do not need."""
        return replace(fun, body=self.body(fun.body))

    def body(self, body: Body) -> Body:
        """A body without unused code; afterwards its free names are live."""
        self.live |= names_in(body.result)
        before = self.scope.defs
        self.scope.defs = {p.name: stm for stm in body.stms for p in stm.pat}
        out: list[Stm] = []
        for stm in reversed(body.stms):
            self.statement(stm, out, MOST_REWRITES)
        self.scope.defs = before
        return body_of(body, out[::-1], body.result)

    def lambda_(self, lam: Lambda) -> Lambda:
        """A lambda; the sizes in its type are used."""
        self.live |= sizes_of(lam.ret)
        self.live |= sizes_of([p.type for p in lam.params])
        return lambda_of(lam, lam.params, self.body(lam.body), lam.ret)

    def statement(self, stm: Stm, out: list[Stm], steps: int) -> None:
        """Append what ``stm`` becomes; statements are appended last first."""
        if steps == 0:
            raise self.rewriting.too_long()
        new = self.rewriting.step(UNUSED, self.scope, stm)
        if new is not None:
            for each in reversed(new):
                self.statement(each, out, steps - 1)
            return
        if not is_flat(stm.exp):
            if isinstance(stm.exp, Loop):
                self.live |= sizes_of([p.param.type for p in stm.exp.params])
            stm = stm_of(stm, map_exp(self.deep, stm.exp))
            (stm,) = self.rewriting.step(UNUSED_INPUTS, self.scope, stm) or (stm,)
        self.live.update(uses(stm.exp))
        self.live |= sizes_of([p.type for p in stm.pat])
        out.append(stm)
