"""The text of programs; :mod:`runelift.ir.parse` reads it back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import assert_never

from runelift.ir import syntax as ir
from runelift.ir.base.lines import Lines, indent, placed
from runelift.ir.constraints import Constraint, Relation
from runelift.ir.guards import Guard
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import Sharing
from runelift.ir.types import Atom, Const, Type, elem_of, shape_of

_PAD = "  "


def pretty(program: ir.Program) -> str:
    """A program as text."""
    return "\n".join(pretty_lines(program)) + "\n"


def pretty_lines(program: ir.Program) -> Lines:
    """A program as lines, which know the places of their statements in the source."""
    for number, fun in enumerate(program.funs):
        if number:
            yield ""
        yield from _fun(fun)


def pretty_stm(stm: ir.Stm) -> str:
    """A statement as text."""
    return "\n".join(stm_lines(stm))


def stm_lines(stm: ir.Stm) -> Lines:
    """A statement as lines, which know their places in the source."""
    return placed(_stm(stm), stm.loc)


def pretty_type(type_: Type) -> str:
    """A type as text."""
    return "".join(f"[{_atom(size)}]" for size in shape_of(type_)) + elem_of(type_).value


def _fun(fun: ir.Fun) -> Lines:
    sizes = "".join(f" [{p.name}]" for p in fun.params[:fun.sizes])
    params = "".join(f" ({_param(p)})" for p in fun.params[fun.sizes:])
    results = ", ".join(_param(p) for p in fun.results)
    yield f"entry {fun.name}{sizes}{params} : ({results}) ="
    yield from _indent(_body(fun.body))


def _indent(lines: Iterable[str]) -> Lines:
    return indent(lines, _PAD)


def _body(body: ir.Body) -> Lines:
    for stm in body.stms:
        yield from stm_lines(stm)
    yield f"in {_atoms(body.result)}"


def _stm(stm: ir.Stm) -> Lines:
    attrs = "".join(f"#[{attr}] " for attr in stm.attrs)
    first, *rest = _exp(stm.exp)
    yield f"let ({', '.join(map(_param, stm.pat))}) = {attrs}{first}"
    yield from _indent(rest)


def _param(param: ir.Param) -> str:
    return f"{param.name} : {pretty_type(param.type)}"


def _atom(atom: Atom) -> str:
    if isinstance(atom, VName):
        return str(atom)
    return pretty_const(atom)


def pretty_const(const: Const) -> str:
    """A constant with its type."""
    return f"{_number(const)}{'' if const.prim is Prim.BOOL else const.prim.value}"


def _number(const: Const) -> str:
    if const.prim is Prim.BOOL:
        return "true" if const.value else "false"
    return repr(float(const.value)) if const.prim.is_float else str(int(const.value))


def _atoms(atoms: Iterable[Atom]) -> str:
    return f"({', '.join(map(_atom, atoms))})"


def _types(types: Iterable[Type]) -> str:
    return f"({', '.join(map(pretty_type, types))})"


def _dims(dims: Iterable[ir.Dim]) -> str:
    return f"[{', '.join(map(_dim, dims))}]"


def _dim(dim: ir.Dim) -> str:
    if isinstance(dim, ir.SliceDim):
        return f"{_atom(dim.start)} :+ {_atom(dim.count)} * {_atom(dim.stride)}"
    return _atom(dim)


def _lambda(lam: ir.Lambda) -> Lines:
    params = " ".join(f"({_param(p)})" for p in lam.params)
    yield f"(\\{params} : {_types(lam.ret)} ->"
    yield from _indent(_body(lam.body))
    yield ")"


def _operators(ops: Iterable[ir.Operator]) -> Lines:
    for op in ops:
        yield f"{'comm ' if op.comm else ''}operator {_atoms(op.neutral)}"
        yield from _indent(_lambda(op.lam))


def _space(space: ir.Space) -> str:
    dims = []
    for number, dim in enumerate(space):
        if (ragged := dim.ragged) is None:
            dims.append(f"{dim.index} < {_atom(dim.width)}")
            continue
        at = "" if ragged.offsets is None else f" at {ragged.offsets}"
        most = "" if ragged.longest is None else f" most {_atom(ragged.longest)}"
        most += "" if ragged.squares is None else f" squares {_atom(ragged.squares)}"
        by = "" if ragged.sharing is Sharing.ROW else f" by {ragged.sharing.value}"
        dims.append(f"{dim.index} < {ragged.lengths}[{space[number - 1].index}]"
                    f" of {_atom(ragged.total)}{at}{most}{by}")
    return f"<{', '.join(dims)}>"


def _block(lines: Iterable[str]) -> Lines:
    yield "{"
    yield from _indent(lines)
    yield "}"


def _exp(exp: ir.Exp) -> Lines:
    """The lines of an expression; long, with one case per construct."""
    match exp:
        case ir.AtomExp(atom):
            yield _atom(atom)
        case ir.PrimOp(op, prim, args):
            yield f"{op}.{prim}{_atoms(args)}"
        case ir.Convert(from_, to, arg):
            yield f"convert.{from_}.{to}({_atom(arg)})"
        case ir.ArrayLit(elems, row):
            yield f"[{', '.join(map(_atom, elems))}] : {pretty_type(row)}"
        case ir.Index(array, dims, checked):
            yield f"{array}{'?' if checked else ''}{_dims(dims)}"
        case ir.Update(array, dims, value, checked):
            yield f"{array} with{'?' if checked else ''} {_dims(dims)} <- {_atom(value)}"
        case ir.Iota(count, start, step, prim):
            yield f"iota.{prim}{_atoms((count, start, step))}"
        case ir.Replicate(shape, value):
            yield f"replicate [{', '.join(map(_atom, shape))}] {_atom(value)}"
        case ir.Concat(dim, arrays, size):
            yield f"concat@{dim} {_atoms(arrays)} {_atom(size)}"
        case ir.Rearrange(perm, array):
            yield f"rearrange ({', '.join(map(str, perm))}) {array}"
        case ir.Reshape(shape, array):
            yield f"reshape [{', '.join(map(_atom, shape))}] {array}"
        case ir.Slide(dim, size, step, count, array):
            yield f"slide@{dim} {_atoms((size, step, count))} {array}"
        case ir.Pad(dim, before, after, value, array):
            yield f"pad@{dim} {_atoms((before, after, value))} {array}"
        case ir.Copy(array):
            yield f"copy {array}"
        case ir.LengthFacts(lengths):
            yield f"facts {lengths}"
        case ir.SlabSize(each, longest):
            yield f"slab {_atom(each)} {_atom(longest)}"
        case ir.SegmentLength(likely):
            yield f"segment {_atom(likely)}"
        case ir.Call(function, args, ret):
            yield f"call {function} {_atoms(args)} : {_types(ret)}"
        case ir.Assert(cond, message, args):
            yield f"assert {_atom(cond)} {json.dumps(message)} {_atoms(args)}"
        case ir.If(cond, then_, else_, ret):
            yield f"if {_atom(cond)} : {_types(ret)} then"
            yield from _indent(_body(then_))
            yield "else"
            yield from _indent(_body(else_))
        case ir.Loop(params, form, body):
            carried = ", ".join(f"{_param(p.param)} = {_atom(p.init)}" for p in params)
            how = (f"for {form.index} < {_atom(form.bound)}" if isinstance(form, ir.ForLoop)
                   else f"while {form.cond}")
            yield f"loop ({carried}) {how} do"
            yield from _indent(_body(body))
        case ir.Recursion(function, params, body, ret):
            given = ", ".join(f"{_param(p.param)} = {_atom(p.init)}" for p in params)
            yield f"recursive {function} ({given}) : {_types(ret)} do"
            yield from _indent(_body(body))
        case ir.Map(width, lam, arrays):
            yield f"map {_atom(width)} {_atoms(arrays)}"
            yield from _indent(_lambda(lam))
        case ir.Redomap(width, ops, lam, arrays) | ir.Scanomap(width, ops, lam, arrays):
            yield f"{type(exp).__name__.lower()} {_atom(width)} {_atoms(arrays)}"
            yield from _indent(_operators(ops))
            yield from _indent(_lambda(lam))
        case ir.Scatter(width, lam, arrays, dests):
            targets = ", ".join(f"{d.array}@{d.rank}" for d in dests)
            yield f"scatter ({targets}) {_atom(width)} {_atoms(arrays)}"
            yield from _indent(_lambda(lam))
        case ir.Hist(width, hist_ops, lam, arrays):
            yield f"hist {_atom(width)} {_atoms(arrays)}"
            for hist in hist_ops:
                yield f"{_PAD}into {_atoms(hist.dests)} bins {_atom(hist.bins)}"
                yield from _indent(_operators([hist.op]))
            yield from _indent(_lambda(lam))
        case ir.Accumulate(width, into, ops, lam, arrays):
            yield f"accumulate {_atoms(into)} {_atom(width)} {_atoms(arrays)}"
            yield from _indent(_operators(ops))
            yield from _indent(_lambda(lam))
        case ir.AccWrite(acc, token, index, values):
            yield f"write {acc} {_atoms((token, index))} {_atoms(values)}"
        case ir.Jvp(lam, args, given) | ir.Vjp(lam, args, given):
            yield f"{type(exp).__name__.lower()} {_atoms(args)} {_atoms(given)}"
            yield from _indent(_lambda(lam))
        case ir.WithVjp(lam, back, args, results):
            yield f"withvjp@{results} {_atoms(args)}"
            yield from _indent(_lambda(lam))
            yield from _indent(_lambda(back))
        case ir.SegAccumulate(level, space, acc, into, ops, body):
            yield f"segaccumulate.{level.value} {_atoms(into)} {acc} {_space(space)}"
            yield from _indent(_operators(ops))
            yield from _indent(_block(_body(body)))
        case ir.SegMap(level, space, body, ret):
            yield f"segmap.{level.value} {_space(space)} : {_types(ret)}"
            yield from _indent(_block(_body(body)))
        case ir.SegRed(level, space, ops, body, ret) | ir.SegScan(level, space, ops, body, ret):
            turned = " backwards" if isinstance(exp, ir.SegScan) and exp.backwards else ""
            yield (f"{type(exp).__name__.lower()}.{level.value}{turned} {_space(space)}"
                   f" : {_types(ret)}")
            yield from _indent(_operators(ops))
            yield from _indent(_block(_body(body)))
            if isinstance(exp, ir.SegScan) and exp.post is not None:
                yield f"{_PAD}post"
                yield from _indent(_lambda(exp.post))
        case ir.SegScatter(level, space, dests, body):
            targets = ", ".join(f"{d.array}@{d.rank}" for d in dests)
            yield f"segscatter.{level.value} ({targets}) {_space(space)}"
            yield from _indent(_block(_body(body)))
        case ir.SegHist(level, space, hist_ops, body):
            yield f"seghist.{level.value} {_space(space)}"
            for hist in hist_ops:
                yield f"{_PAD}into {_atoms(hist.dests)} bins {_atom(hist.bins)}"
                yield from _indent(_operators([hist.op]))
            yield from _indent(_block(_body(body)))
        case ir.Versions(site, alternatives, ret):
            yield f"versions {site} : {_types(ret)}"
            for version in alternatives:
                when = "else" if version.guard is None else _guard(version.guard)
                made = f" by {_strings(version.schedule)}" if version.schedule else ""
                yield f"{_PAD}{when} ({version.kind.value}){made} =>"
                yield from _indent(_indent(_body(version.body)))
        case _:
            assert_never(exp)


def _guard(guard: Guard) -> str:
    default = "" if guard.default is None else f" default {guard.default}"
    needs = f" needs ({', '.join(map(_need, guard.needs))})" if guard.needs else ""
    lengths = "" if guard.lengths is None else (
        f" lengths ({', '.join(map(str, guard.lengths.sizes()))})")
    return (f"when {guard.name} <= {guard.par} {json.dumps(guard.key)}"
            f"{default}{lengths}{needs}")


def _need(need: Constraint) -> str:
    relation = "equals" if need.kind is Relation.EQUAL else need.kind.value
    origin = f" {_strings(need.origin)}" if need.origin else ""
    return f"{need.left} {relation} {need.right}{origin}"


def _strings(texts: Iterable[str]) -> str:
    return " ".join(map(json.dumps, texts))
