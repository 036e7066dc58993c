"""Kernels of the text that :mod:`runelift.ir.imp.pretty` prints: ``parse(pretty(ks)) == ks``.

The text has everything of a kernel but the comment above it and the source positions of its
failures.  These are not part of its equality either.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lark import Lark, Token, v_args

from runelift.ir import imp
from runelift.ir.imp import Exp, Kernel, Space, Stm
from runelift.ir.names import VName
from runelift.ir.parse import CORE, Malformed, Reader, read, vname
from runelift.ir.prim import OPS, Prim
from runelift.ir.sizes import Size
from runelift.ir.types import Atom


def parse(text: str, name: str = "<kernels>") -> tuple[Kernel, ...]:
    """The kernels of a text; ProgramError with the position of what is wrong."""
    kernels: tuple[Kernel, ...] = read(_grammar(), _ImpReader(), text, name)
    return kernels


@cache
def _grammar() -> Lark:
    own = Path(__file__).with_name("imp.lark").read_text("utf-8")
    return Lark(CORE.text + own, parser="lalr", start="kernels", maybe_placeholders=False)


def _prim(token: Token) -> Prim:
    """The type that a word like ``store.f32`` ends with."""
    try:
        return Prim(str(token).rpartition(".")[2])
    except ValueError:
        raise Malformed(f"'{token}' does not end with a primitive type.", token) from None


@dataclass(frozen=True, slots=True)
class _Constant:
    """A constant of a kernel, and the field that names it besides, if there is one."""

    name: VName
    role: str


@dataclass(frozen=True, slots=True)
class _Setting:
    """A setting of a kernel, which is no constant."""

    name: VName


@v_args(inline=True)
class _ImpReader(Reader):
    """From the parse tree to kernels, bottom-up."""

    def kernels(self, *kernels: Kernel) -> tuple[Kernel, ...]:
        return kernels

    def kernel(self, name: Token, *parts: Any) -> Kernel:
        def of(*types: type) -> tuple[Any, ...]:
            return tuple(p for p in parts if isinstance(p, types))

        params, arrays = of(imp.BufferParam, imp.ScalarParam), of(imp.LocalArray)
        failures, constants = of(imp.Failure), of(_Constant)
        settings = tuple(p.name for p in of(_Setting))
        body = parts[sum(map(len, (params, arrays, failures, constants, settings))):]
        return Kernel(str(name), params, arrays, body, failures,
                      constants=tuple(c.name for c in constants), settings=settings,
                      **{c.role: c.name for c in constants if c.role})

    def constant(self, *parts: Token) -> _Constant:
        return _Constant(vname(parts[-1]), str(parts[0]) if len(parts) > 1 else "")

    def setting(self, _: Token, name: Token) -> _Setting:
        return _Setting(vname(name))

    def buffer_param(self, name: Token, prim: Token, *written: Token) -> imp.BufferParam:
        return imp.BufferParam(vname(name), _prim(prim), bool(written))

    def scalar_param(self, name: Token, prim: Token) -> imp.ScalarParam:
        return imp.ScalarParam(vname(name), _prim(prim))

    def local(self, name: Token, prim: Token, length: Size, *within: Token) -> imp.LocalArray:
        return imp.LocalArray(vname(name), _prim(prim), length,
                              vname(within[0]) if within else None)

    def failure(self, message: Token) -> imp.Failure:
        return imp.Failure(json.loads(message))

    # Statements

    def statements(self, *stms: Stm) -> tuple[Stm, ...]:
        return stms

    def declare(self, name: Token, prim: Token, *init: Exp) -> Stm:
        return imp.Declare(vname(name), _prim(prim), *init)

    def declare_array(self, name: Token, prim: Token, length: Token) -> Stm:
        return imp.DeclareArray(vname(name), _prim(prim),
                                int(length) if length.type == "INT" else vname(length))

    def assign(self, name: Token, value: Exp) -> Stm:
        return imp.Assign(vname(name), value)

    def store(self, word: Token, mem: Token, index: Exp, value: Exp) -> Stm:
        return imp.Store(vname(mem), index, value, _prim(word))

    def counted(self, *parts: Any) -> Stm:
        *unroll, index, start, bound, step, body = parts
        times = vname(unroll[1]) if len(unroll) > 1 else bool(unroll)
        return imp.For(vname(index), start, bound, step, body, times)

    def repeated(self, cond: Exp, body: tuple[Stm, ...]) -> Stm:
        return imp.While(cond, body)

    def conditional(self, cond: Exp, then_: tuple[Stm, ...], *else_: tuple[Stm, ...]) -> Stm:
        return imp.If(cond, then_, *else_)

    def barrier(self, space: Token) -> Stm:
        return imp.Barrier(Space(str(space)))

    def fence(self) -> Stm:
        return imp.Fence()

    def atomic(self, word: Token, space: Token, mem: Token, index: Exp, value: Exp,
               *old: Token) -> Stm:
        op = str(word).split(".")[1]
        return imp.Atomic(op, _prim(word), vname(mem), index, value, Space(str(space)),
                          *map(vname, old))

    def atomic_update(self, word: Token, space: Token, mem: Token, index: Exp, old: Token,
                      body: tuple[Stm, ...], new: Exp) -> Stm:
        """An atomic update; a parameter for each child of the node in the grammar."""
        return imp.AtomicUpdate(vname(mem), index, _prim(word), Space(str(space)), vname(old),
                                body, new)

    def locked(self, space: Token, locks: Token, index: Exp, *rest: Any) -> Stm:
        *guarded, body = rest
        return imp.Locked(vname(locks), index, Space(str(space)), tuple(map(vname, guarded)), body)

    def peek(self, name: Token, word: Token, mem: Token, index: Exp) -> Stm:
        return imp.Peek(vname(name), _prim(word), vname(mem), index)

    def shuffle(self, name: Token, word: Token, subgroup: Token, value: Exp,
                source: Exp) -> Stm:
        return imp.Shuffle(vname(name), _prim(word), value, source, vname(subgroup))

    def fail(self, code: Token, args: tuple[Exp, ...]) -> Stm:
        return imp.Fail(int(code), args)

    def comment(self, text: Token) -> Stm:
        return imp.Comment(json.loads(text))

    # Expressions

    def scalar(self, atom: Atom) -> Exp:
        return imp.Var(atom) if isinstance(atom, VName) else imp.Lit(atom)

    def arguments(self, *args: Exp) -> tuple[Exp, ...]:
        return args

    def apply(self, word: Token, args: tuple[Exp, ...]) -> Exp:
        op, *prims = str(word).split(".")
        if op == "convert" and len(prims) == 2 and len(args) == 1:
            return imp.Convert(Prim(prims[0]), _prim(word), args[0])
        if op not in OPS or len(prims) != 1 or len(args) != OPS[op].arity:
            raise Malformed(f"'{word}' is no operation on {len(args)} values.", word)
        return imp.Apply(op, _prim(word), args)

    def load(self, word: Token, mem: Token, index: Exp) -> Exp:
        return imp.Load(vname(mem), index, _prim(word))

    def select(self, word: Token, cond: Exp, then_: Exp, else_: Exp) -> Exp:
        return imp.Select(cond, then_, else_, _prim(word))

    def work_item(self, kind: Token, dim: Token) -> Exp:
        return imp.WorkItem(imp.Id(str(kind)), int(dim))
