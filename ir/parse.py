"""Reading back what :mod:`runelift.ir.pretty` prints: ``parse(pretty(p)) == p``.

Everything of a program is in its text but the source positions of statements, which are not part
of their equality either.  ``--`` starts a comment.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedInput, UnexpectedToken, VisitError

from runelift.ir import constraints
from runelift.ir import syntax as ir
from runelift.ir.base.errors import Diagnostic, ProgramError
from runelift.ir.base.source import Source, Span
from runelift.ir.base.tables import Tables
from runelift.ir.constraints import Constraint
from runelift.ir.guards import Guard, Kind, Lengths
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.ragged import Ragged, Sharing
from runelift.ir.sizes import Size, ceil_div, greatest, least, product
from runelift.ir.types import ArrayType, Atom, Const, Type

T = TypeVar("T")
CORE = Tables("runelift.ir", "core", {
    "parser": "lalr", "start": "program", "maybe_placeholders": False})


def parse(text: str, name: str = "<ir>") -> ir.Program:
    """The program of an IR text; ProgramError with the position of what is wrong."""
    program: ir.Program = read(CORE.grammar(), Reader(), text, name)
    return program


def read(grammar: Lark, reader: Transformer[Token, Any], text: str, name: str) -> Any:
    """The value that ``text`` stands for; ProgramError with the position of what is wrong."""
    source = Source(name, text)
    try:
        return reader.transform(grammar.parse(text))
    except UnexpectedInput as error:
        ended = isinstance(error, UnexpectedToken) and error.token.type == "$END"
        start = len(text) if ended or error.pos_in_stream is None else error.pos_in_stream
        found = text[start:start + 20].split("\n")[0] or "the end of the text"
        raise _malformed(source, start, f"The IR cannot go on with '{found}' here.") from None
    except VisitError as error:
        if not isinstance(error.orig_exc, Malformed):
            raise
        raise _malformed(source, error.orig_exc.at, str(error.orig_exc)) from None


class Malformed(Exception):
    """Something that the grammar allows and the IR does not."""

    def __init__(self, message: str, token: Token) -> None:
        super().__init__(message)
        self.at = token.start_pos or 0


def _malformed(source: Source, start: int, message: str) -> ProgramError:
    end = min(start + 1, len(source.text))
    return ProgramError(Diagnostic("malformed-ir", Span(source, start, end), message))


def vname(token: Token) -> VName:
    """The name that a token spells."""
    base, _, tag = str(token).rpartition("_")
    return VName(base, int(tag))


def _prim(name: str, token: Token) -> Prim:
    try:
        return Prim(name)
    except ValueError:
        raise Malformed(f"'{name}' is no primitive type.", token) from None


def _level(token: Token) -> ir.Level:
    return ir.Level(str(token).rpartition(".")[2])


def _rest(items: tuple[Any, ...], type_: type[T]) -> tuple[T, ...]:
    """The items of a type, where optional or repeated parts leave their kind only."""
    return tuple(item for item in items if isinstance(item, type_))


@v_args(inline=True)
class Reader(Transformer[Token, Any]):
    """From the parse tree to the nodes of the IR, bottom-up: a method per rule of the grammar."""

    def program(self, *funs: ir.Fun) -> ir.Program:
        return ir.Program(funs)

    def fun(self, name: Token, *parts: Any) -> ir.Fun:
        *head, results, body = parts
        sizes = _rest(tuple(head), VName)
        params = tuple(ir.Param(s, Prim.I64) for s in sizes) + _rest(tuple(head), ir.Param)
        return ir.Fun(str(name), params, results, body, len(sizes))

    def size_param(self, name: Token) -> VName:
        return vname(name)

    def value_param(self, param: ir.Param) -> ir.Param:
        return param

    def param(self, name: Token, type_: Type) -> ir.Param:
        return ir.Param(vname(name), type_)

    def type(self, *parts: Any) -> Type:
        *shape, prim = parts
        elem = Prim(str(prim))
        return ArrayType(elem, tuple(shape)) if shape else elem

    def body(self, *parts: Any) -> ir.Body:
        *stms, result = parts
        return ir.Body(tuple(stms), result)

    def stm(self, pat: tuple[ir.Param, ...], *parts: Any) -> ir.Stm:
        *attrs, exp = parts
        return ir.Stm(pat, exp, tuple(str(attr)[2:-1] for attr in attrs))

    # Atoms

    def name(self, token: Token) -> VName:
        return vname(token)

    def const(self, token: Token) -> Const:
        text = str(token)
        prim = next(p for p in Prim if text.endswith(p.value))
        number = text.removesuffix(prim.value)
        if prim.is_float:
            return Const(float(number), prim)
        try:
            return Const(int(number), prim)
        except ValueError:
            raise Malformed(f"'{number}' is not of type {prim}.", token) from None

    def truth(self, token: Token) -> Const:
        return Const(str(token) == "true", Prim.BOOL)

    def several(self, *items: T) -> tuple[T, ...]:
        return items

    atoms = list = dims = params = types = dests = space = several

    def slice(self, start: Atom, count: Atom, stride: Atom) -> ir.SliceDim:
        return ir.SliceDim(start, count, stride)

    # Expressions without bodies

    def atom_exp(self, atom: Atom) -> ir.Exp:
        return ir.AtomExp(atom)

    def operation(self, name: Token, args: tuple[Atom, ...]) -> ir.Exp:
        op, *prims = str(name).split(".")
        types = [_prim(prim, name) for prim in prims]
        match op, types, args:
            case "convert", [from_, to], (arg,):
                return ir.Convert(from_, to, arg)
            case "iota", [prim], (count, start, step):
                return ir.Iota(count, start, step, prim)
            case _, [prim], _ if op in OPS:
                return ir.PrimOp(op, prim, args)
        raise Malformed(f"'{name}' is no operation on {len(args)} atoms.", name)

    def array_lit(self, elems: tuple[Atom, ...], row: Type) -> ir.Exp:
        return ir.ArrayLit(elems, row)

    def index(self, array: Token, *parts: Any) -> ir.Exp:
        return ir.Index(vname(array), parts[-1], len(parts) > 1)

    def update(self, array: Token, *parts: Any) -> ir.Exp:
        *check, dims, value = parts
        return ir.Update(vname(array), dims, value, bool(check))

    def replicate(self, shape: tuple[Atom, ...], value: Atom) -> ir.Exp:
        return ir.Replicate(shape, value)

    def concat(self, dim: Token, arrays: tuple[VName, ...], size: Atom) -> ir.Exp:
        return ir.Concat(int(dim[1:]), arrays, size)

    def rearrange(self, *parts: Token) -> ir.Exp:
        *perm, array = parts
        return ir.Rearrange(tuple(map(int, perm)), vname(array))

    def reshape(self, shape: tuple[Atom, ...], array: Token) -> ir.Exp:
        return ir.Reshape(shape, vname(array))

    def slide(self, dim: Token, numbers: tuple[Atom, ...], array: Token) -> ir.Exp:
        size, step, count = numbers
        return ir.Slide(int(dim[1:]), size, step, count, vname(array))

    def pad(self, dim: Token, numbers: tuple[Atom, ...], array: Token) -> ir.Exp:
        before, after, value = numbers
        return ir.Pad(int(dim[1:]), before, after, value, vname(array))

    def copy(self, array: Token) -> ir.Exp:
        return ir.Copy(vname(array))

    def facts(self, lengths: Token) -> ir.Exp:
        return ir.LengthFacts(vname(lengths))

    def slab_size(self, each: Atom, longest: Atom) -> ir.Exp:
        return ir.SlabSize(each, longest)

    def segment_length(self, likely: Atom) -> ir.Exp:
        return ir.SegmentLength(likely)

    def call(self, function: Token, args: tuple[Atom, ...], ret: tuple[Type, ...]) -> ir.Exp:
        return ir.Call(vname(function), args, ret)

    def assert_(self, cond: Atom, message: Token, args: tuple[Atom, ...]) -> ir.Exp:
        return ir.Assert(cond, json.loads(message), args)

    # Control and second-order operations

    def if_(self, cond: Atom, ret: tuple[Type, ...], then_: ir.Body, else_: ir.Body) -> ir.Exp:
        return ir.If(cond, then_, else_, ret)

    def carried(self, param: ir.Param, init: Atom) -> ir.LoopParam:
        return ir.LoopParam(param, init)

    def for_(self, index: Token, bound: Atom) -> ir.ForLoop:
        return ir.ForLoop(vname(index), bound)

    def while_(self, cond: Token) -> ir.WhileLoop:
        return ir.WhileLoop(vname(cond))

    def loop(self, *parts: Any) -> ir.Exp:
        *params, form, body = parts
        return ir.Loop(tuple(params), form, body)

    def recursion(self, function: Token, *parts: Any) -> ir.Exp:
        *params, ret, body = parts
        return ir.Recursion(vname(function), _rest(tuple(params), ir.LoopParam), body, ret)

    def lam(self, *parts: Any) -> ir.Lambda:
        *params, ret, body = parts
        return ir.Lambda(tuple(params), body, ret)

    def operator(self, *parts: Any) -> ir.Operator:
        *comm, neutral, lam = parts
        return ir.Operator(lam, neutral, bool(comm))

    def map(self, width: Atom, arrays: tuple[VName, ...], lam: ir.Lambda) -> ir.Exp:
        return ir.Map(width, lam, arrays)

    def redomap(self, width: Atom, arrays: tuple[VName, ...], *parts: Any) -> ir.Exp:
        return ir.Redomap(width, parts[:-1], parts[-1], arrays)

    def scanomap(self, width: Atom, arrays: tuple[VName, ...], *parts: Any) -> ir.Exp:
        return ir.Scanomap(width, parts[:-1], parts[-1], arrays)

    def dest(self, array: Token, rank: Token) -> ir.Dest:
        return ir.Dest(vname(array), int(rank[1:]))

    def scatter(self, dests: tuple[ir.Dest, ...], width: Atom, arrays: tuple[VName, ...],
                lam: ir.Lambda) -> ir.Exp:
        return ir.Scatter(width, lam, arrays, dests)

    def bins(self, dests: tuple[VName, ...], bins: Atom, op: ir.Operator) -> ir.HistOp:
        return ir.HistOp(bins, dests, op)

    def hist(self, width: Atom, arrays: tuple[VName, ...], *parts: Any) -> ir.Exp:
        return ir.Hist(width, parts[:-1], parts[-1], arrays)

    def accumulate(self, dests: tuple[VName, ...], width: Atom, arrays: tuple[VName, ...],
                   *parts: Any) -> ir.Exp:
        return ir.Accumulate(width, dests, parts[:-1], parts[-1], arrays)

    def accwrite(self, acc: Token, places: tuple[Atom, ...], values: tuple[Atom, ...]) -> ir.Exp:
        token, index = places
        return ir.AccWrite(vname(acc), token, index, values)

    def jvp(self, args: tuple[Atom, ...], tangents: tuple[Atom, ...], lam: ir.Lambda) -> ir.Exp:
        return ir.Jvp(lam, args, tangents)

    def vjp(self, args: tuple[Atom, ...], seeds: tuple[Atom, ...], lam: ir.Lambda) -> ir.Exp:
        return ir.Vjp(lam, args, seeds)

    def withvjp(self, results: Token, args: tuple[Atom, ...], lam: ir.Lambda, back: ir.Lambda
                ) -> ir.Exp:
        return ir.WithVjp(lam, back, args, int(results[1:]))

    # Segmented operations and versions

    def seg_dim(self, index: Token, width: Atom) -> ir.SegDim:
        return ir.SegDim(vname(index), width)

    def offsets(self, name: Token) -> tuple[str, VName]:
        return "offsets", vname(name)

    def most(self, atom: Atom) -> tuple[str, Atom]:
        return "longest", atom

    def squares(self, atom: Atom) -> tuple[str, Atom]:
        return "squares", atom

    def ragged_dim(self, index: Token, lengths: Token, _: Token, total: Atom,
                   *parts: Any) -> ir.SegDim:
        named: dict[str, Any] = dict(part for part in parts if isinstance(part, tuple))
        by = next((str(part).split()[1] for part in parts if isinstance(part, Token)), "row")
        return ir.SegDim(vname(index), Ragged(vname(lengths), total, sharing=Sharing(by), **named))

    def block(self, body: ir.Body) -> ir.Body:
        return body

    def segmap(self, level: Token, space: tuple[ir.SegDim, ...], ret: tuple[Type, ...],
               body: ir.Body) -> ir.Exp:
        return ir.SegMap(_level(level), space, body, ret)

    def segred(self, level: Token, space: tuple[ir.SegDim, ...], ret: tuple[Type, ...],
               *parts: Any) -> ir.Exp:
        return ir.SegRed(_level(level), space, parts[:-1], parts[-1], ret)

    def segscan(self, level: Token, *parts: Any) -> ir.Exp:
        *turned, space, ret = parts[:3] if isinstance(parts[0], Token) else parts[:2]
        parts = parts[len(turned) + 2:]
        post = parts[-1] if isinstance(parts[-1], ir.Lambda) else None
        *ops, body = parts[:-1] if post else parts
        return ir.SegScan(_level(level), space, tuple(ops), body, ret, post, bool(turned))

    def segscatter(self, level: Token, dests: tuple[ir.Dest, ...], space: tuple[ir.SegDim, ...],
                   body: ir.Body) -> ir.Exp:
        return ir.SegScatter(_level(level), space, dests, body)

    def seghist(self, level: Token, space: tuple[ir.SegDim, ...], *parts: Any) -> ir.Exp:
        return ir.SegHist(_level(level), space, parts[:-1], parts[-1])

    def segaccumulate(self, level: Token, dests: tuple[VName, ...], acc: Token,
                      space: tuple[ir.SegDim, ...], *parts: Any) -> ir.Exp:
        return ir.SegAccumulate(_level(level), space, vname(acc), dests, parts[:-1], parts[-1])

    def versions(self, site: Token, ret: tuple[Type, ...], *alternatives: ir.Version) -> ir.Exp:
        return ir.Versions(str(site), alternatives, ret)

    def version(self, *parts: Any) -> ir.Version:
        *head, body = parts
        kind = Kind(next(str(part) for part in head if isinstance(part, Token))[1:-1])
        guard = next((part(kind) for part in head if callable(part)), None)
        schedule = next((part for part in head if isinstance(part, tuple)), ())
        return ir.Version(guard, kind, body, schedule)

    def schedule(self, *points: Token) -> tuple[str, ...]:
        return tuple(map(json.loads, points))

    # Guards

    def guard(self, name: Token, par: Size, key: Token, *parts: Any) -> Any:
        named: dict[str, Any] = dict(part for part in parts if isinstance(part, tuple))
        words = [part for part in parts if isinstance(part, Token)]
        default = next((int(word) for word in words if word.type == "INT"), None)
        return lambda kind: Guard(str(name), json.loads(key), kind, par, default=default, **named)

    def needs(self, *needs: Constraint) -> tuple[str, tuple[Constraint, ...]]:
        return "needs", needs

    def lengths(self, *sizes: Size) -> tuple[str, Lengths]:
        return "lengths", Lengths(*sizes)

    def divides(self, left: Size, right: Size, *origin: Token) -> Constraint:
        return constraints.divides(left, right, *map(json.loads, origin))

    def at_least(self, left: Size, right: Size, *origin: Token) -> Constraint:
        return constraints.at_least(left, right, *map(json.loads, origin))

    def equal(self, left: Size, right: Size, *origin: Token) -> Constraint:
        return constraints.equal(left, right, *map(json.loads, origin))

    def total(self, *terms: Size) -> Size:
        return sum(terms, Size.of(0))

    def product(self, *factors: Size) -> Size:
        return product(factors)

    def integer(self, token: Token) -> Size:
        return Size.of(int(token))

    def variable(self, token: Token) -> Size:
        return Size.var(vname(token))

    def ceil(self, num: Size, den: Size) -> Size:
        return ceil_div(num, den)

    def least(self, *sizes: Size) -> Size:
        return least(*sizes)

    def greatest(self, *sizes: Size) -> Size:
        return greatest(*sizes)
