"""The text of kernels, which tests read back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import assert_never

from runelift.ir import imp
from runelift.ir.imp import Exp, Kernel, Stm
from runelift.ir.names import VName
from runelift.ir.pretty import pretty_const

Lines = Iterator[str]


def pretty(kernels: Iterable[Kernel]) -> str:
    """Kernels as text."""
    return "\n".join("\n".join(_kernel(kernel)) + "\n" for kernel in kernels)


def pretty_statement(stm: Stm) -> str:
    """A statement as text."""
    return "\n".join(_stm(stm))


def pretty_expression(exp: Exp) -> str:
    """An expression as text."""
    return _exp(exp)


def _kernel(kernel: Kernel) -> Lines:
    if kernel.comment:
        yield f"-- {kernel.comment}"
    roles = {kernel.teams: "teams ", kernel.even: "even ", kernel.width: "width "}
    constants = "".join(f" [{roles.get(name, '')}{name}]" for name in kernel.constants)
    settings = "".join(f" [unroll {name}]" for name in kernel.settings)
    yield f"kernel {kernel.name}{constants}{settings}"
    for param in kernel.params:
        yield f"    ({_param(param)})"
    yield "{"
    yield from _indent(_local(array) for array in kernel.locals)
    yield from _indent(f"failure {json.dumps(f.message)}" for f in kernel.failures)
    yield from _block(kernel.body)
    yield "}"


def _param(param: imp.KernelParam) -> str:
    match param:
        case imp.BufferParam(name, prim, written):
            return f"{name} : global {prim}{' written' if written else ''}"
        case imp.ScalarParam(name, prim):
            return f"{name} : {prim}"
    assert_never(param)


def _local(array: imp.LocalArray) -> str:
    within = "" if array.within is None else f" within {array.within}"
    return f"local {array.name} : {array.prim}[{array.length}]{within}"


def _indent(lines: Iterable[str]) -> Lines:
    return (f"  {line}" for line in lines)


def _block(stms: Iterable[Stm]) -> Lines:
    for stm in stms:
        yield from _indent(_stm(stm))


def _stm(stm: Stm) -> Lines:
    match stm:
        case imp.Declare(name, prim, init):
            yield f"var {name} : {prim}" + ("" if init is None else f" = {_exp(init)}")
        case imp.DeclareArray(name, prim, length):
            yield f"array {name} : {prim}[{length}]"
        case imp.Assign(name, value):
            yield f"{name} := {_exp(value)}"
        case imp.Store(mem, index, value, prim):
            yield f"store.{prim} {mem}[{_exp(index)}] <- {_exp(value)}"
        case imp.For(index, start, bound, step, body, unroll):
            times = f" {unroll}" if isinstance(unroll, VName) else ""
            yield (f"{f'unroll{times} ' if unroll else ''}for {index} from {_exp(start)} "
                   f"below {_exp(bound)} by {_exp(step)} {{")
            yield from _block(body)
            yield "}"
        case imp.While(cond, body):
            yield f"while {_exp(cond)} {{"
            yield from _block(body)
            yield "}"
        case imp.If(cond, then_, else_):
            yield f"if {_exp(cond)} {{"
            yield from _block(then_)
            if else_:
                yield "} else {"
                yield from _block(else_)
            yield "}"
        case imp.Barrier(space):
            yield f"barrier {space.value}"
        case imp.Shuffle(name, prim, value, source, subgroup):
            yield f"{name} := shuffle.{prim} {subgroup} ({_exp(value)}) from {_exp(source)}"
        case imp.Fence():
            yield "fence"
        case imp.Atomic(op, prim, mem, index, value, space, old):
            held = "" if old is None else f" as {old}"
            yield (f"atomic.{op}.{prim} {space.value} {mem}[{_exp(index)}] <- {_exp(value)}{held}")
        case imp.AtomicUpdate(mem, index, prim, space, old, body, new):
            yield f"update.{prim} {space.value} {mem}[{_exp(index)}] as {old} {{"
            yield from _block(body)
            yield f"}} <- {_exp(new)}"
        case imp.Locked(locks, index, space, guarded, body):
            held = ", ".join(map(str, guarded))
            yield f"locked {space.value} {locks}[{_exp(index)}] for {held} {{"
            yield from _block(body)
            yield "}"
        case imp.Peek(name, prim, mem, index):
            yield f"{name} := peek.{prim} {mem}[{_exp(index)}]"
        case imp.Fail(code, args):
            yield f"fail {code} ({', '.join(map(_exp, args))})"
        case imp.Comment(text):
            yield f"comment {json.dumps(text)}"
        case _:
            assert_never(stm)


def _exp(exp: Exp) -> str:
    match exp:
        case imp.Var(name):
            return str(name)
        case imp.Lit(const):
            return pretty_const(const)
        case imp.Apply(op, prim, args):
            return f"{op}.{prim}({', '.join(map(_exp, args))})"
        case imp.Convert(from_, to, arg):
            return f"convert.{from_}.{to}({_exp(arg)})"
        case imp.Load(mem, index, prim):
            return f"load.{prim} {mem}[{_exp(index)}]"
        case imp.Select(cond, then_, else_, prim):
            return f"select.{prim}({_exp(cond)}, {_exp(then_)}, {_exp(else_)})"
        case imp.WorkItem(kind, dim):
            return f"{kind.value}({dim})"
    assert_never(exp)
