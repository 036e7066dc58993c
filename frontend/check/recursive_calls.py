"""Restrictions on functions that call themselves: functions are handed on by the same names.

So there is one function for each use from outside, whose arguments are data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runelift.frontend.check.forms import has_function, whole_name
from runelift.frontend.syntax import ast
from runelift.frontend.syntax import types as ty
from runelift.frontend.syntax.nodes import Node, walk
from runelift.ir.base.errors import Diagnostic
from runelift.ir.base.source import Span


def recursive_calls(dec: ast.ValDec, domains: Sequence[ty.Type],
                    result: ty.Type) -> Iterator[Diagnostic]:
    """Errors in the calls that a function makes of itself, and in its result."""
    if has_function(result):
        yield _error(dec.ret.span if dec.ret else dec.name_span, f"Function '{dec.name}' calls "
                     "itself, and its result is not first-order: it is or has a function.",
                     "Write what that function takes as further parameters.")
        return
    functions = [number for number, domain in enumerate(domains) if has_function(domain)]
    if functions:
        yield from _uses(dec, functions)


def _uses(dec: ast.ValDec, functions: Sequence[int]) -> Iterator[Diagnostic]:
    """Errors in the uses of a function some of whose parameters are functions."""
    called = set[int]()
    for node in walk(dec.body):
        if isinstance(node, ast.Apply) and _is_itself(node.fun, dec):
            called.add(id(node.fun))
            yield from _call(node, dec, functions)
    for node in walk(dec.body):
        if isinstance(node, Node) and _is_itself(node, dec) and id(node) not in called:
            yield _error(node.span, f"Function '{dec.name}' has a higher-order parameter, so it "
                         "can name itself only where it is called.", "Call it with all arguments.")


def _call(call: ast.Apply, dec: ast.ValDec, functions: Sequence[int]) -> Iterator[Diagnostic]:
    """Errors in a call of a function by itself."""
    if len(call.args) < len(dec.params):
        yield _error(call.span, f"This call of '{dec.name}' by itself is not fully saturated: it "
                     f"has {len(call.args)} of {len(dec.params)} arguments.",
                     "Call it with all arguments, as some of them are functions.")
        return
    for number in functions:
        arg, name = call.args[number], whole_name(dec.params[number])
        if name is None or not isinstance(arg, ast.Name) or str(arg.name) != name:
            yield _error(arg.span, f"Where '{dec.name}' calls itself, a function must be passed "
                         "unchanged, by its name"
                         + ("." if name is None else f" '{name}'."),
                         "Let another argument, which is data, say what the function does.")


def _is_itself(node: Node, dec: ast.ValDec) -> bool:
    return isinstance(node, ast.Name) and str(node.name) == dec.name


def _error(span: Span, message: str, hint: str) -> Diagnostic:
    return Diagnostic("recursive-function", span, message, hints=(hint,))

