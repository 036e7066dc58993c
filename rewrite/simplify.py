"""Simplification: copy propagation, rules, common subexpressions and dead code.

One pass walks a body once: operands are replaced by what they are known to be, rules rewrite
each expression, an expression that was computed before is not computed again, and afterwards
what nobody uses is dropped.  Assertions are kept where they are.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import MutableMapping
from dataclasses import dataclass, field, replace

from runelift.ir.names import Names, VName
from runelift.ir.syntax import (
    FALSE,
    TRUE,
    Assert,
    Atom,
    AtomExp,
    Body,
    Convert,
    Exp,
    If,
    Index,
    Iota,
    Lambda,
    Loop,
    Map,
    Param,
    PrimOp,
    Program,
    Rearrange,
    Redomap,
    Replicate,
    Reshape,
    Scanomap,
    Stm,
    WhileLoop,
)
from runelift.ir.traverse import Mapper, free_vars, map_exp, map_stm
from runelift.rewrite.rule import Rewriting, RuleBook
from runelift.rewrite.rules.algebra import ALGEBRA
from runelift.rewrite.rules.index import INDEX

SIMPLIFICATION: RuleBook = ALGEBRA + INDEX
SHARED = (PrimOp, Convert, Index, Rearrange, Reshape, Iota, Replicate)
"""Expressions of which an equal one is computed once."""


def simplify(program: Program, names: Names) -> Program:
    """``program`` with every body simplified."""
    rewriting = Rewriting(SIMPLIFICATION)
    funs = []
    for fun in program.funs:
        params = {p.name: Stm((p,), AtomExp(p.name)) for p in fun.params}
        scope = _Scope(rewriting, ChainMap({}, {}), ChainMap({}, params), ChainMap({}))
        body = scope.body(fun.body)
        funs.append(replace(fun, body=live_body(body)))
    return Program(tuple(funs))


@dataclass(slots=True)
class _Scope:
    """What is known where a statement stands."""

    rewriting: Rewriting
    copies: MutableMapping[VName, Atom]
    defs: MutableMapping[VName, Stm]
    computed: MutableMapping[Exp, VName] = field(default_factory=dict)

    def inner(self) -> _Scope:
        return _Scope(self.rewriting, ChainMap({}, *_maps(self.copies)),
                      ChainMap({}, *_maps(self.defs)), ChainMap({}, *_maps(self.computed)))

    def atom(self, atom: Atom) -> Atom:
        return self.copies.get(atom, atom) if isinstance(atom, VName) else atom

    def _mapper(self) -> Mapper:
        return Mapper(self.atom, lambda name: name, lambda b: self.inner().body(b),
                      lambda lam: self.inner().lambda_(lam))

    def lambda_(self, lam: Lambda) -> Lambda:
        self._know(lam.params)
        body = self.body(lam.body)
        mapper = self._mapper()
        return Lambda(tuple(Param(p.name, mapper.type(p.type)) for p in lam.params), body,
                      mapper.types(lam.ret))

    def _know(self, params: tuple[Param, ...]) -> None:
        for param in params:
            self.defs[param.name] = Stm((param,), AtomExp(param.name))

    def body(self, body: Body) -> Body:
        """A body in this scope; its statements extend the scope."""
        out: list[Stm] = []
        for stm in body.stms:
            out += self.statement(stm)
        return Body(tuple(out), tuple(self.atom(a) for a in body.result))

    def statement(self, stm: Stm) -> list[Stm]:
        """The statement simplified: none if it is a copy, several if it was a branch."""
        if isinstance(stm.exp, Loop):
            self._know(tuple(p.param for p in stm.exp.params))
        stm = map_stm(self._mapper(), stm)
        match stm.exp:
            case If(cond, then_, else_) if cond in (TRUE, FALSE):
                taken = then_ if cond == TRUE else else_
                for param, atom in zip(stm.pat, taken.result, strict=True):
                    self.copies[param.name] = atom
                return [s for inner in taken.stms for s in self.statement(inner)]
            case Assert(cond) if cond == TRUE:
                return []
        exp = self.rewriting.normalise(stm.exp, self.defs)
        if isinstance(exp, AtomExp) and len(stm.pat) == 1 and exp.atom != stm.pat[0].name:
            self.copies[stm.pat[0].name] = self.atom(exp.atom)
            return []
        if isinstance(exp, SHARED):
            if (found := self.computed.get(exp)) is not None:
                self.copies[stm.pat[0].name] = found
                return []
            self.computed[exp] = stm.pat[0].name
        stm = Stm(stm.pat, exp, stm.attrs, stm.loc)
        for param in stm.pat:
            self.defs[param.name] = stm
        return [stm]


def _maps(mapping: MutableMapping) -> list[MutableMapping]:  # type: ignore[type-arg]
    return mapping.maps if isinstance(mapping, ChainMap) else [mapping]


# Dead code


def live_body(body: Body, kept: frozenset[VName] = frozenset()) -> Body:
    """``body`` without statements whose results nobody uses."""
    needed = {a for a in body.result if isinstance(a, VName)} | kept
    out: list[Stm] = []
    for stm in reversed(body.stms):
        wanted = {p.name for p in stm.pat} & needed
        if not wanted and not must_run(stm.exp):
            continue
        stm = _live_statement(stm, needed)
        out.append(stm)
        needed |= free_vars(stm)
    return Body(tuple(reversed(out)), body.result)


def must_run(exp: Exp) -> bool:
    """Whether ``exp`` may fail an assertion, and so stays although nobody uses its results."""
    if isinstance(exp, Assert):
        return True
    found: list[bool] = []

    def look(body: Body) -> Body:
        found.append(any(must_run(stm.exp) for stm in body.stms))
        return body

    def look_lambda(lam: Lambda) -> Lambda:
        look(lam.body)
        return lam

    map_exp(Mapper(lambda a: a, lambda n: n, look, look_lambda), exp)
    return any(found)


def _live_statement(stm: Stm, needed: set[VName]) -> Stm:
    """The statement with dead code inside removed, and its unused results where that is easy."""
    stm = _drop_results(stm, needed)
    mapper = Mapper(lambda a: a, lambda n: n, live_body, _live_lambda)
    return Stm(stm.pat, map_exp(mapper, stm.exp), stm.attrs, stm.loc)


def _live_lambda(lam: Lambda) -> Lambda:
    return Lambda(lam.params, live_body(lam.body), lam.ret)


def _drop_results(stm: Stm, needed: set[VName]) -> Stm:
    needed = needed | {n for p in stm.pat if p.name in needed for n in _sizes(p)}
    keep = [p.name in needed for p in stm.pat]
    if all(keep):
        return _drop_inputs(stm)
    match stm.exp:
        case If(cond, then_, else_, ret):
            exp: Exp = If(cond, _pick_body(then_, keep), _pick_body(else_, keep),
                          _pick(ret, keep))
            return Stm(_pick(stm.pat, keep), exp, stm.attrs, stm.loc)
        case Map(width, lam, arrays):
            exp = Map(width, _pick_lambda(lam, keep), arrays)
            return _drop_inputs(Stm(_pick(stm.pat, keep), exp, stm.attrs, stm.loc))
        case Redomap(width, ops, lam, arrays) | Scanomap(width, ops, lam, arrays):
            count = sum(len(op.neutral) for op in ops)
            keep = [k < count or kept for k, kept in enumerate(keep)]
            exp = type(stm.exp)(width, ops, _pick_lambda(lam, keep), arrays)
            return _drop_inputs(Stm(_pick(stm.pat, keep), exp, stm.attrs, stm.loc))
        case Loop():
            return _drop_carried(stm, stm.exp, keep)
    return stm


def _sizes(param: Param) -> set[VName]:
    from runelift.ir.syntax import shape_of

    return {s for s in shape_of(param.type) if isinstance(s, VName)}


def _drop_carried(stm: Stm, loop: Loop, keep: list[bool]) -> Stm:
    """Drop values that a loop carries only for themselves."""
    names = [p.param.name for p in loop.params]
    wanted = {n for n, kept in zip(names, keep, strict=True) if kept}
    if isinstance(loop.form, WhileLoop):
        wanted.add(loop.form.cond)
    while True:
        results = {r for n, r in zip(names, loop.body.result, strict=True)
                   if n in wanted and isinstance(r, VName)}
        body = live_body(Body(loop.body.stms, tuple(results)))
        used = free_vars(body) | results
        used |= {s for p in loop.params if p.param.name in wanted for s in _sizes(p.param)}
        more = {n for n in names if n in used} - wanted
        if not more:
            break
        wanted |= more
    kept = [n in wanted for n in names]
    new = Loop(_pick(loop.params, kept), loop.form,
               Body(loop.body.stms, _pick(loop.body.result, kept)))
    return Stm(_pick(stm.pat, kept), new, stm.attrs, stm.loc)


def _pick(items: tuple, keep: list[bool]) -> tuple:  # type: ignore[type-arg]
    return tuple(item for item, kept in zip(items, keep, strict=True) if kept)


def _pick_body(body: Body, keep: list[bool]) -> Body:
    return Body(body.stms, _pick(body.result, keep))


def _pick_lambda(lam: Lambda, keep: list[bool]) -> Lambda:
    return Lambda(lam.params, _pick_body(lam.body, keep), _pick(lam.ret, keep))


def _drop_inputs(stm: Stm) -> Stm:
    """Drop inputs of a map that its lambda does not look at."""
    match stm.exp:
        case Map(width, lam, arrays):
            used = free_vars(Body(lam.body.stms, lam.body.result))
            keep = [p.name in used for p in lam.params]
            if not all(keep):
                lam = Lambda(_pick(lam.params, keep), lam.body, lam.ret)
                return Stm(stm.pat, Map(width, lam, _pick(arrays, keep)), stm.attrs, stm.loc)
    return stm


