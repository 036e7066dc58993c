"""Formulas of the work of a kernel for people: main terms, over the names of sizes.

Shares are taken as 1, clamps to 0 are left out, and quotients are not rounded.  So a formula is
that of a launch all of whose work-items have work, without the parts for what is left over.
"""

from __future__ import annotations

from typing import TypeAlias

from runelift.codegen.cost.expressions import Expr, Node, Region
from runelift.codegen.cost.follow import Follower
from runelift.codegen.cost.totals import SECTOR
from runelift.codegen.cost.work import argument_names
from runelift.ir import imp

SHOWN = {"touched": "bytes accessed", "read": "bytes read", "written": "bytes written",
         "random": "accesses at random", "arithmetic": "operations on data",
         "special": "divisions, roots and the like", "local": "accesses to local memory",
         "atomics": "atomic operations", "steps": "steps of the longest work-item",
         "waits": "loads that it waits for", "streams": "loads that it asks for ahead"}
"""The fields that are shown, and what they are."""
MOST_TERMS = 8
"""Longer sums are a factor in parentheses."""
MOST_SHOWN = 4
"""The terms of a formula that are shown."""
LONGEST, LINE = 40, 150
"""The most characters of a factor and of a formula; of a longer text the start is shown."""

Product: TypeAlias = tuple[str, ...]
Sum: TypeAlias = dict[Product, float]
"""A polynomial: products of factors with their numbers."""


def explained(kernel: imp.Kernel) -> str:
    """The main terms of a kernel's work, a line for each field; branches on sizes are marked."""
    follower = Follower(kernel, argument_names(kernel))
    texts = _Texts({text: name.base for name, text in argument_names(kernel).items()})
    lines = [kernel.name]
    for field, what in SHOWN.items():
        found = texts.field(follower.top, field)
        lines += [f"  {what}: {found[0]}", *(f"    {line}" for line in found[1:])] if found else []
    return "\n".join(lines)


class _Texts:
    """Texts of expressions with the names of sizes."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        self._known: dict[Node, Sum] = {}

    def field(self, region: Region, field: str) -> list[str]:
        """The terms of a field in a region and in the regions inside it, if there are any."""
        total: Sum = {}
        for weight, times in region.sums.get(field, {}).items():
            factor = times * (SECTOR if field in ("read", "written") else 1)
            total = _added(total, _times(self._sum(weight), {(): factor}))
        found = [_cut(_text(total), LINE)] if total else []
        for cond, a, b in region.choices:
            first, second = self.field(a, field), self.field(b, field)
            if first == second:
                found += first
                continue
            said = _factor(self._sum(cond))
            found += [f"if {said}: {line}" for line in first]
            found += [f"if not {said}: {line}" for line in second]
        return found

    def _sum(self, expr: Expr) -> Sum:
        if not isinstance(expr, Node):
            return {(): expr} if expr else {}
        if expr not in self._known:
            found = self._found(expr)
            self._known[expr] = found if len(found) <= MOST_TERMS else {(_factor(found),): 1}
        return self._known[expr]

    def _found(self, expr: Node) -> Sum:
        op, args = expr.op, expr.args
        if not args:
            return {(self._names.get(op, op),): 1}
        sums = [self._sum(arg) for arg in args]
        match op:
            case "+":
                total: Sum = {}
                for each in sums:
                    total = _added(total, each)
                return total
            case "-":
                return _added(sums[0], _times(sums[1], {(): -1}))
            case "*":
                product: Sum = {(): 1}
                for each in sums:
                    product = _times(product, each)
                return product
            case "/" | "//" | "/?":
                return _over(*sums)
            case "if":
                return sums[1] if sums[2] in ({}, {(): 1}) else sums[2] if sums[1] in (
                    {}, {(): 1}) else {(f"({_factor(sums[1])} or {_factor(sums[2])})",): 1}
            case "min" | "max":
                if any(arg == 1 for arg in args) and op == "min":
                    return {(): 1}
                if not all(isinstance(arg, Node) for arg in args):
                    return next(s for s, arg in zip(sums, args, strict=True)
                                if isinstance(arg, Node))
                return {(f"{op}({', '.join(map(_text, sums))})",): 1} if (
                    sums[0] != sums[1]) else sums[0]
            case "not" | "bits" | "ones":
                return {(f"{op}({_text(sums[0])})",): 1}
        return {(f"{_factor(sums[0])} {op} {_factor(sums[1])}",): 1}


def _added(a: Sum, b: Sum) -> Sum:
    found = dict(a)
    for product, count in b.items():
        found[product] = found.get(product, 0) + count
    return {product: count for product, count in found.items() if count}


def _times(a: Sum, b: Sum) -> Sum:
    found: Sum = {}
    for x, m in a.items():
        found = _added(found, {tuple(sorted(x + y)): m * n for y, n in b.items()})
    return found


def _over(a: Sum, b: Sum) -> Sum:
    """The quotient ``a / b`` without common factors."""
    if len(b) == 1:
        (product, count), = b.items()
        found: Sum = {}
        for each, number in a.items():
            left = list(each)
            for factor in product:
                if factor not in left:
                    break
                left.remove(factor)
            else:
                found[tuple(left)] = number / count
                continue
            break
        else:
            return found
    return {(f"{_factor(a)} / {_factor(b)}",): 1} if a else {}


def _text(total: Sum) -> str:
    """A sum, the products with most factors first."""
    ordered = sorted(total.items(), key=lambda item: (-len(item[0]), -abs(item[1]), item[0]))
    parts = []
    for product, count in ordered[:MOST_SHOWN]:
        factors = [_short(f"({f})" if " " in f and len(product) > 1 else f) for f in product]
        parts.append("*".join([*([] if count == 1 and factors else [f"{count:.4g}"]), *factors]))
    more = [] if len(ordered) <= MOST_SHOWN else ["..."]
    return " + ".join([*parts, *more]).replace("+ -", "- ") or "0"


def _factor(total: Sum) -> str:
    text = _text(total)
    return f"({text})" if len(total) > 1 else text


def _short(factor: str) -> str:
    return _cut(factor, LONGEST) + ")" * (len(factor) > LONGEST)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "..."
