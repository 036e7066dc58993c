"""Searches: loops whose next element is known before it is known that the loop goes on.

``while i < n && v < xs[i] do i + 1`` asks for an element when it has seen the one before.  A GPU
waits for each of them.  Here an iteration makes several steps.  It reads the elements of all steps
at once, at places moved inside of the arrays.  Then it finds out how many of the steps count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from runelift.ir import syntax as ir
from runelift.ir.names import Names, VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.traverse import free_vars, rename_body, substitute_body
from runelift.ir.types import FALSE, ArrayType, Atom, Const, Type, i64, zero

STEPS = 4
"""The steps of an iteration."""
MOST_OPERATIONS = 12
"""The most operations of a step: more of them hide that a load takes long."""
MOST_APART = 4
"""The most elements between what two steps read: so they share cache lines."""
LONG_OPS = frozenset({"pow", "sqrt", "exp", "log", "sin", "cos", "tan"})
"""Some of the operations that take as long as a load, or longer."""


def stepwise(loop: ir.Loop, type_of: Callable[[Atom], Type], names: Names) -> ir.Loop | None:
    """The loop with several steps in each iteration; None if it is not a search."""
    if not isinstance(loop.form, ir.WhileLoop) or not all(
            isinstance(p.param.type, Prim) for p in loop.params):
        return None
    params = [p.param.name for p in loop.params]
    place = params.index(loop.form.cond)
    step = _Step(type_of, names)
    if not step.flattens(loop.body) or step.count > MOST_OPERATIONS or not step.loads:
        return None
    late = _depending(step.stms, set(step.loads))
    rest = {p: atom for k, (p, atom) in enumerate(zip(params, step.result, strict=True))
            if k != place}
    if not late.isdisjoint(rest.values()) or step.result[place] not in late:
        return None
    near = {p for p, atom in rest.items() if _moves_little(step.stms, p, atom)}
    far = late | _depending(step.stms, set(rest) - near)
    moving = _depending(step.stms, set(rest))
    if any(not far.isdisjoint(dims) or not moving.isdisjoint(dims[:-1])
           for dims in step.loads.values()):
        return None
    return replace(loop, body=_several(loop, step, place, names))


def _moves_little(stms: Sequence[ir.Stm], param: VName, result: Atom) -> bool:
    """True if a step leaves a parameter unchanged, or adds a small constant."""
    made = next((stm.exp for stm in stms if stm.pat[0].name == result), None)
    match made:
        case ir.PrimOp("add", _, (other, Const(value))) | ir.PrimOp(
                "add", _, (Const(value), other)) | ir.PrimOp("sub", _, (other, Const(value))):
            return other == param and -MOST_APART <= value <= MOST_APART
    return result == param


def _several(loop: ir.Loop, step: _Step, place: int, names: Names) -> ir.Body:
    """Several steps in sequence, with the results of the last step that the condition allows.

    All loads come first.
    """
    params = [p.param for p in loop.params]
    waiting = _depending(step.stms, set(step.loads))
    early, late = list[ir.Stm](), list[ir.Stm]()
    values: list[Atom] = [p.name for p in params]
    results: list[tuple[Atom, ...]] = []
    for _ in range(STEPS):
        body = substitute_body(rename_body(ir.Body(tuple(step.stms), step.result), names),
                               dict(zip((p.name for p in params), values, strict=True)))
        for stm, old in zip(body.stms, step.stms, strict=True):
            is_late = old.pat[0].name in waiting and old.pat[0].name not in step.loads
            (late if is_late else early).append(stm)
        values = list(body.result)
        results.append(body.result)
    last = results[-1]
    for before in reversed(results[:-1]):
        chosen = [ir.Param(names.fresh(p.name), p.type) for p in params]
        ended = tuple(FALSE if k == place else atom for k, atom in enumerate(before))
        late.append(ir.Stm(tuple(chosen), ir.If(
            before[place], ir.Body((), last), ir.Body((), ended), tuple(p.type for p in params))))
        last = tuple(p.name for p in chosen)
    return ir.Body((*early, *late), last)


@dataclass(slots=True)
class _Step:
    """A step without branches: both sides of each are computed, and one is chosen.

    ``loads`` are the names of what is read, each with its place in an array.
    """

    type_of: Callable[[Atom], Type]
    names: Names
    stms: list[ir.Stm] = field(default_factory=list)
    loads: dict[VName, Sequence[Atom]] = field(default_factory=dict)
    result: tuple[Atom, ...] = ()
    count: int = 0

    def flattens(self, body: ir.Body) -> bool:
        """True if all statements can be executed whether their results are needed or not."""
        self.result = body.result
        return all(map(self._statement, body.stms))

    def _statement(self, stm: ir.Stm) -> bool:
        self.count += 1
        match stm.exp:
            case ir.PrimOp(name, args=(*_, last)):
                self.stms.append(stm)
                fails = OPS[name].traps and not (isinstance(last, Const) and last.value)
                return not fails and name not in LONG_OPS
            case ir.Convert() | ir.AtomExp() if isinstance(stm.pat[0].type, Prim):
                self.stms.append(stm)
                return True
            case ir.Index(array, dims, False) if not any(isinstance(d, ir.SliceDim) for d in dims):
                return self._load(stm, array, [d for d in dims if not isinstance(d, ir.SliceDim)])
            case ir.If(cond, then_, else_) if all(isinstance(p.type, Prim) for p in stm.pat):
                if not all(map(self._statement, (*then_.stms, *else_.stms))):
                    return False
                sides = ir.Body((), then_.result), ir.Body((), else_.result)
                self.stms.append(replace(stm, exp=ir.If(cond, *sides, stm.exp.ret)))
                return True
        return False

    def _load(self, stm: ir.Stm, array: VName, dims: Sequence[Atom]) -> bool:
        """A load at the nearest place in an array, or a zero if the array is empty."""
        type_ = self.type_of(array)
        (out,) = stm.pat
        if not isinstance(type_, ArrayType) or not isinstance(out.type, Prim):
            return False
        exists: Atom | None = None
        inside: list[ir.Stm] = []
        places: list[Atom] = []
        for dim, size in zip(dims, type_.shape, strict=True):
            some = self._op(self.stms, "lt", Prim.I64, (i64(0), size), Prim.BOOL)
            exists = some if exists is None else self._op(self.stms, "and", Prim.BOOL,
                                                          (exists, some), Prim.BOOL)
            last = self._op(inside, "sub", Prim.I64, (size, i64(1)), Prim.I64)
            below = self._op(inside, "min", Prim.I64, (dim, last), Prim.I64)
            places.append(self._op(inside, "max", Prim.I64, (below, i64(0)), Prim.I64))
        assert exists is not None
        value = self.names.fresh(out.name)
        inside.append(ir.Stm((ir.Param(value, out.type),), ir.Index(array, tuple(places))))
        self.stms.append(replace(stm, exp=ir.If(
            exists, ir.Body(tuple(inside), (value,)), ir.Body((), (zero(out.type),)),
            (out.type,))))
        self.loads[out.name] = dims
        return True

    def _op(self, stms: list[ir.Stm], op: str, prim: Prim, args: tuple[Atom, ...], ret: Prim
            ) -> VName:
        out = self.names.fresh("t")
        stms.append(ir.Stm((ir.Param(out, ret),), ir.PrimOp(op, prim, args)))
        return out


def _depending(stms: Sequence[ir.Stm], names: set[VName]) -> set[Atom]:
    """The names ``names``, and the names of statements that need them."""
    found = set(names)
    for stm in stms:
        if not found.isdisjoint(free_vars(stm)):
            found |= {p.name for p in stm.pat}
    return set(found)
