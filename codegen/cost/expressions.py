"""Python expressions over the arguments of a formula, which share their common parts.

A :class:`Graph` makes expressions and folds constants.  A :class:`Region` is a part of the formula
under a condition: what it adds to the sums, and the regions inside.  :func:`printed` is the text of
a straight-line function of nested regions; each shared part is computed once, where it is needed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, TypeAlias


class Node:
    """An operation on expressions; arguments have smaller numbers."""

    __slots__ = ("_low", "args", "number", "op")

    def __init__(self, number: int, op: str, args: tuple[Expr, ...]) -> None:
        self.number = number
        self.op = op
        self.args = args
        self._low: float | None = None

    @property
    def low(self) -> float:
        """A lower bound of the expression."""
        if self._low is None:
            self._low = _low(self.op, self.args)
        return self._low


Expr: TypeAlias = "int | float | Node"
"""A number, or a computation."""

LARGEST_SHIFT = 62
"""Longer shifts of an i64 are 0 here."""
DEEPEST = 12
"""Operations in parentheses within each other; Python's parser takes about a hundred."""
_TEXTS = {
    "-": "{} - {}", "//": "{} // {}", "/": "{} / {}", "<": "{} < {}", "<=": "{} <= {}",
    "==": "{} == {}", "and": "{} and {}", "or": "{} or {}", "not": "not {}",
    "if": "{1} if {0} else {2}", "min": "{0} if {0} < {1} else {1}",
    "max": "{0} if {0} > {1} else {1}", "&": "{} & {}", "|": "{} | {}", "^": "{} ^ {}",
    ">>": "{} >> {}", "<<": "{} << {}", "bits": "({}).bit_length()",
    "ones": "({}).bit_count()", "/?": "{0} // {1} if {1} else 0",
}
"""The text of each operation but sums and products; ``/?`` divides by what may be 0."""
_NAMED = {"min": (0, 1), "max": (0, 1), "/?": (1,)}
"""The arguments that are written twice."""


def low(expr: Expr) -> float:
    """A lower bound of a value."""
    return expr.low if isinstance(expr, Node) else expr


def _low(op: str, args: tuple[Expr, ...]) -> float:
    lows = [low(arg) for arg in args]
    match op:
        case "+":
            return sum(lows)
        case "*":
            return math.prod(lows) if min(lows) >= 0 else -math.inf
        case "min":
            return min(lows)
        case "max":
            return max(lows)
        case "if":
            return min(lows[1:])
        case "-":
            return -math.inf
        case "//" | "/?" | "/":
            return 0 if min(lows) >= 0 else -math.inf
    return 0


class Graph:
    """A graph of expressions, in which equal expressions are one node."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[object, ...], Node] = {}
        self.nodes: list[Node] = []

    def node(self, op: str, *args: Expr) -> Node:
        """An operation; numbers among its arguments are integers where they can be."""
        key = (op, *args)
        found = self._nodes.get(key)
        if found is None:
            found = self._nodes[key] = Node(len(self.nodes), op, args)
            self.nodes.append(found)
        return found

    def name(self, name: str, low: float = 0) -> Node:
        """An argument of the formula, which is at least ``low``."""
        found = self.node(name)
        found._low = low
        return found

    def total(self, terms: list[Expr]) -> Expr:
        """The sum of terms, simplified."""
        constant: int | float = 0
        rest: list[Expr] = []
        for term in terms:
            if isinstance(term, Node):
                rest.append(term)
            else:
                constant += term
        if not rest:
            return constant
        if constant:
            rest.append(constant)
        return rest[0] if len(rest) == 1 else self.node("+", *rest)

    def add(self, a: Expr, b: Expr) -> Expr:
        """``a + b``."""
        return self.total([a, b])

    def sub(self, a: Expr, b: Expr) -> Expr:
        """``a - b``."""
        if not isinstance(b, Node):
            return self.total([a, -b])
        return 0 if a is b else self.node("-", a, b)

    def mul(self, *factors: Expr) -> Expr:
        """The product of factors, simplified."""
        if len(factors) == 2:
            a, b = factors
            if a == 1 or b == 0:
                return b
            if b == 1 or a == 0:
                return a
        constant: int | float = 1
        rest: list[Any] = []
        for factor in factors:
            if isinstance(factor, Node):
                rest.append(factor)
            else:
                constant *= factor
        if not rest or constant == 0:
            return constant if not rest else 0
        if type(constant) is float and constant.is_integer():
            constant = int(constant)
        if len(rest) == 1 and rest[0].op == "*" and not isinstance(rest[0].args[-1], Node):
            constant *= rest[0].args[-1]
            rest = list(rest[0].args[:-1])
        if constant != 1:
            rest.append(constant)
        return rest[0] if len(rest) == 1 else self.node("*", *rest)

    def over(self, a: Expr, b: Expr) -> Expr:
        """``a / b``; b is at least 1 wherever a is not 0, and taken as 1 if it is less."""
        if isinstance(b, Node):
            return 0 if a == 0 else 1 if a is b else self.node("/", a, self.most(b, 1))
        return self.mul(a, 1 / b) if b > 0 else a

    def floor(self, a: Expr, b: Expr) -> Expr:
        """``a // b``, rounded down; 0 if b is 0."""
        if isinstance(b, Node):
            return 0 if a == 0 else self.node("/?", a, b)
        if b == 1 or not b:
            return a if b else 0
        return self.node("//", a, b) if isinstance(a, Node) else a // b

    def least(self, a: Expr, b: Expr) -> Expr:
        """The minimum of two expressions."""
        if isinstance(a, Node) or isinstance(b, Node):
            if not isinstance(a, Node) and a <= low(b):
                return a
            return b if not isinstance(b, Node) and b <= low(a) else (
                a if a is b else self.node("min", a, b))
        return min(a, b)

    def most(self, a: Expr, b: Expr) -> Expr:
        """The maximum of two expressions."""
        if isinstance(a, Node) or isinstance(b, Node):
            if not isinstance(a, Node) and a <= low(b):
                return b
            return a if a is b or (not isinstance(b, Node) and b <= low(a)) else (
                self.node("max", a, b))
        return max(a, b)

    def absolute(self, a: Expr) -> Expr:
        """A number without its sign."""
        if not isinstance(a, Node):
            return abs(a)
        if a.low >= 0:
            return a
        negated = self.mul(-1, a)
        return negated if low(negated) >= 0 else self.node("max", a, negated)

    def clamp(self, a: Expr, low: Expr, high: Expr) -> Expr:
        """The number from ``low`` to ``high`` that is nearest to ``a``."""
        return self.least(self.most(a, low), high)

    def choose(self, cond: Expr, a: Expr, b: Expr) -> Expr:
        """``a`` if the condition holds, else ``b``."""
        if not isinstance(cond, Node):
            return a if cond else b
        return a if a is b or (a == b and type(a) is type(b)) else self.node("if", cond, a, b)

    def less(self, a: Expr, b: Expr, op: str = "<") -> Expr:
        """A comparison: ``<``, ``<=`` or ``==``."""
        if not isinstance(a, Node) and not isinstance(b, Node):
            return {"<": a < b, "<=": a <= b, "==": a == b}[op]
        return op != "<" if a is b else self.node(op, a, b)

    def both(self, a: Expr, b: Expr) -> Expr:
        """True if both hold."""
        if not isinstance(a, Node):
            return b if a else False
        if not isinstance(b, Node):
            return a if b else False
        return self.node("and", a, b)

    def either(self, a: Expr, b: Expr) -> Expr:
        """True if one holds."""
        if not isinstance(a, Node):
            return True if a else b
        if not isinstance(b, Node):
            return True if b else a
        return self.node("or", a, b)

    def opposite(self, a: Expr) -> Expr:
        """The negation of the condition ``a``."""
        if not isinstance(a, Node):
            return not a
        return a.args[0] if a.op == "not" else self.node("not", a)


@dataclass(eq=False)
class Region:
    """Terms that are added to sums, and to maxima, if the conditions around hold."""

    parent: Region | None = None
    depth: int = 0
    sums: dict[str, dict[Expr, float]] = field(default_factory=lambda: defaultdict(dict))
    """The terms of each sum, with constant factors."""
    greatest: dict[str, dict[Expr, None]] = field(default_factory=lambda: defaultdict(dict))
    choices: list[tuple[Node, Region, Region]] = field(default_factory=list)

    def add(self, name: str, weight: Expr, times: float = 1) -> None:
        """Add ``times * weight`` to the sum ``name``."""
        if weight == 0 or not times:
            return
        if not isinstance(weight, Node):
            weight, times = 1, times * weight
        terms = self.sums[name]
        terms[weight] = terms.get(weight, 0) + times

    def reach(self, name: str, value: Expr) -> None:
        """Have a maximum be at least this value."""
        if value != 0:
            self.greatest[name][value] = None

    def inside(self) -> Region:
        """A new region in this one."""
        return Region(self, self.depth + 1)

    def empty(self) -> bool:
        """True if nothing is added."""
        return not self.sums and not self.greatest and all(
            a.empty() and b.empty() for _, a, b in self.choices)

    def roots(self) -> list[Expr]:
        """The expressions that are evaluated in this region."""
        return [*(w for terms in self.sums.values() for w in terms),
                *(v for values in self.greatest.values() for v in values),
                *(cond for cond, a, b in self.choices if not (a.empty() and b.empty()))]

    def names(self, *, sums: bool) -> dict[str, None]:
        """The names of sums or maxima that this region or an inner region adds to, in order."""
        found = dict.fromkeys(self.sums if sums else self.greatest)
        for _, a, b in self.choices:
            found |= a.names(sums=sums) | b.names(sums=sums)
        return found


class Printer:
    """Prints the statements of regions."""

    def __init__(self, graph: Graph, top: Region) -> None:
        self._texts: dict[int, tuple[str, int]] = {}
        self._count = 0
        self.lines: list[str] = []
        self._homes: list[Region | None] = [None] * len(graph.nodes)
        self._shared = set[int]()
        """The numbers of nodes that are used several times, or written twice."""
        self._collect(top)
        self._local: dict[Region, list[Node]] = defaultdict(list)
        for node in reversed(graph.nodes):
            home = self._homes[node.number]
            if home is None:
                continue
            if node.number in self._shared and node.args:
                self._local[home].append(node)
            for arg in node.args:
                if isinstance(arg, Node):
                    self._use(arg.number, home)
            for place in _NAMED.get(node.op, ()):
                if isinstance(arg := node.args[place], Node):
                    self._shared.add(arg.number)
        self._region(top, "    ")

    def _use(self, number: int, region: Region) -> None:
        """Note the use of a node in a region."""
        home = self._homes[number]
        if home is None:
            self._homes[number] = region
            return
        self._shared.add(number)
        if home is not region:
            self._homes[number] = _around(home, region)

    def _collect(self, region: Region) -> None:
        for root in region.roots():
            if isinstance(root, Node):
                self._use(root.number, region)
        for values in region.greatest.values():
            self._shared.update(v.number for v in values if isinstance(v, Node))
        for _, a, b in region.choices:
            self._collect(a)
            self._collect(b)

    def _text(self, expr: Expr) -> tuple[str, int]:
        """The text of an expression, and how deep its parentheses are; 0 if it is a name."""
        if not isinstance(expr, Node):
            return (repr(expr) if expr >= 0 else f"({expr!r})"), 0
        found = self._texts.get(expr.number)
        if found is not None:
            return found
        if not expr.args:
            return expr.op, 0
        parts, depth = [], 0
        for arg in expr.args:
            text, deep = self._text(arg)
            if deep >= DEEPEST:
                assert isinstance(arg, Node)
                text, deep = self._keep(arg, text), 0
            parts.append(f"({text})" if deep else text)
            depth = max(depth, deep)
        if expr.op in "+*":
            return f" {expr.op} ".join(parts), depth + 1
        return _TEXTS[expr.op].format(*parts), depth + 1

    def _keep(self, node: Node, text: str) -> str:
        name = f"t{self._count}"
        self._count += 1
        self.lines.append(f"{self._indent}{name} = {text}")
        self._texts[node.number] = name, 0
        return name

    def _region(self, region: Region, indent: str) -> None:
        self._indent = indent
        for node in reversed(self._local[region]):
            self._keep(node, self._text(node)[0])
        for name, terms in region.sums.items():
            texts = []
            for weight, times in terms.items():
                text, deep = self._text(weight)
                text = f"({text})" if deep else text
                texts.append(text if times == 1 else f"{times:.12g}" if weight == 1 else
                             f"{times:.12g} * {text}")
            self.lines.append(f"{indent}{name} += {' + '.join(texts)}")
        for name, values in region.greatest.items():
            for value in values:
                text = self._text(value)[0]
                self.lines.append(f"{indent}if {text} > {name}: {name} = {text}")
        for cond, a, b in region.choices:
            self._choice(cond, a, b, indent)

    def _choice(self, cond: Node, a: Region, b: Region, indent: str) -> None:
        if a.empty() and b.empty():
            return
        self._indent = indent
        text = self._text(cond)[0]
        if a.empty():
            self.lines.append(f"{indent}if not ({text}):")
            self._region(b, indent + "    ")
            return
        self.lines.append(f"{indent}if {text}:")
        self._region(a, indent + "    ")
        if not b.empty():
            self.lines.append(f"{indent}else:")
            self._region(b, indent + "    ")


def _around(a: Region, b: Region) -> Region:
    """The innermost region that contains both regions."""
    while a is not b:
        if a.depth < b.depth:
            a, b = b, a
        assert a.parent is not None
        a = a.parent
    return a
