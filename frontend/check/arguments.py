"""Calls whose arguments fit in another order, without one of them, or with one more.

The arguments are checked again for that, so this is only for calls that are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate, combinations, permutations
from typing import NamedTuple, Protocol

from runelift.frontend.check.conversions import FOLDS, floats_of, is_float
from runelift.frontend.check.foreign import alone, argument
from runelift.frontend.check.unify import (
    FunctionalType,
    IrregularType,
    SizeMismatch,
    Substitution,
    TypeMismatch,
)
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.nodes import Node
from runelift.frontend.syntax.prelude import EQUALITY, FUNCTIONS, OPERATORS
from runelift.frontend.syntax.types import Array, Arrow, MetaVar, Tuple, Type, metas, show
from runelift.ir.base.errors import Diagnostic, Label, ProgramError, Replacement
from runelift.ir.base.source import Span
from runelift.ir.prim import FLOATS, INTS, NUMBERS

MOST_ARGUMENTS = 5
"""The most arguments of a call that are tried in other orders."""
DERIVATIVES = frozenset({"vjp", "vjp2", "jvp", "jvp2", "mjp", "mjp2", "jmp", "jmp2"})
"""The functions that take a function, its argument and a seed."""

NEUTRAL = {"reduce": 1, "reduce_comm": 1, "scan": 1, "hist": 1, "reduce_by_index": 2}
"""The place of the neutral element among the arguments of a function, from 0."""

_NEUTRAL = re.compile(
    r"-?(?:[01](?:\.0*)?|\d+\.\d+)(?:[iuf]\d+)?|true|false|-?\w+\.(?:lowest|highest|inf|nan)")
"""The text of a number that is the neutral element of an operator, rather than a size."""


class Checker(Protocol):
    """The parts of the inference of types that are needed."""

    solved: Substitution
    errors: list[Diagnostic]

    def infer(self, exp: ast.Exp, expected: Type | None = None) -> Type:
        """The type of an expression."""


def reordered(checker: Checker, call: ast.Exp | None) -> str | None:
    """The hint of the order in which the arguments of a call fit; None if there is no such.

    Of several orders it is the one with the fewest exchanged pairs, if one alone has so few.
    """
    if not isinstance(call, ast.Apply) or not 2 <= len(call.args) <= MOST_ARGUMENTS:
        return None
    typed = _typed(checker, call)
    if typed is None:
        return None
    domains, given = typed
    if len(domains) < len(given):
        return None
    wanted = domains[:len(given)]
    fitting = [order for order in permutations(range(len(given)))
               if _fit(checker, wanted, [given[k] for k in order])]
    # what is overwritten is rather made by a call than a name
    best = [order for order in fitting if not any(
        each.consumes and isinstance(call.args[k], ast.Name)
        for each, k in zip(wanted, order, strict=True))] or fitting
    exchanged = [sum(a > b for a, b in combinations(order, 2)) for order in best]
    best = [order for order, count in zip(best, exchanged, strict=True) if count == min(exchanged)]
    if len(best) != 1:
        return None
    new = _call(call, (call.args[k] for k in best[0]))
    return Replacement(f"The arguments fit in another order: {new}", new, call.span)


_ELEMENTWISE = frozenset({*OPERATORS, *EQUALITY})


def elementwise(checker: Checker, call: ast.Exp | None, typed: Sequence[Node]) -> str | None:
    """The hint for operators and functions of single values that get arrays: map or map2.

    ``typed`` has the expressions around ``call``: all of them that are of single values are mapped
    at once, and integers among floats are converted.
    """
    if not isinstance(call, ast.BinExp | ast.Apply | ast.Negate) or not _is_single(checker, call):
        return None
    whole: ast.Exp = call
    choice: ast.Exp | None = None
    for exp in reversed(typed):
        if isinstance(exp, ast.Exp) and whole in _operands(exp) and _is_single(checker, exp):
            whole = exp
        if isinstance(exp, ast.IfExp) and whole is exp.cond:
            choice = exp
    hint = _mapped(checker, whole)
    chosen = _mapped(checker, choice, hint or "") if choice is not None else None
    return chosen or hint


def _mapped(checker: Checker, whole: ast.Exp, otherwise: str = "") -> str | None:
    """The hint that maps an expression of single values along its arrays; None if unclear."""
    leaves = _leaves(checker, whole)
    place = balanced(whole.span)
    words = {*re.findall(r"[\w']+", place.text)}
    free = iter([each for each in "xyzuvwabc" if each not in words])
    arrays = {exp.span.text: rank for exp, _, rank in leaves if rank}
    if not 1 <= len(arrays) <= 3 or "--" in place.text or any(
            isinstance(exp, ast.ArrayExp) and not exp.items for exp, _, _ in leaves):
        return None
    letters = {text: next(free, "x") for text in arrays}
    float_ = next((elem for _, elem, _ in leaves if elem in FLOATS), None) or (
        floats_of(place.source.text) if any(
            is_float(checker.solved, elem) for _, elem, _ in leaves) else None)
    body, converts = place.text, False
    for exp, elem, _ in reversed(leaves):
        part, new = alone(exp.span), letters.get(exp.span.text, "")
        if float_ is not None and elem in INTS:
            new, converts = f"{float_}.{elem} {new or argument(exp.span.text)}", True
        if new:
            body = body[:part.start - place.start] + new + body[part.end - place.start:]
    body, params = " ".join(body.split()), " ".join(letters.values())
    op = str(whole.op) if isinstance(whole, ast.BinExp) else ""
    op = "**" if op == "^" and float_ is not None else op
    function = f"(\\{params} -> {body})"
    if isinstance(whole, ast.Apply) and body.removesuffix(f" {params}") != body and not (
            {*params.split()} & {*re.findall(r"[\w']+", body.removesuffix(params))}):
        function = argument(body.removesuffix(f" {params}"))
    elif op and len(leaves) == 2 and not converts:
        (a, left), (b, right) = ((argument(exp.span.text), rank) for exp, _, rank in leaves)
        function = (f"({op})" if len(arrays) == 2 else f"({a} {op})" if not left else function
                    if op == "-" or right else f"({op} {b})")
    names = [*map(argument, letters)]
    deep, least = max(arrays.values()), min(arrays.values())
    if deep == least:
        for _ in range(deep - 1):
            function = f"({_along(function, arrays)})"
        new = f"{_along(function, arrays)} {' '.join(names)}"
    elif deep == 2:  # a row of the matrix goes with the array
        rows = {text: f"row{k or ''}" for k, text in enumerate(arrays) if arrays[text] == deep}
        inner = " ".join(rows.get(text) or argument(text) for text in arrays)
        function = f"(\\{' '.join(rows.values())} -> {_along(function, arrays)} {inner})"
        new = f"{_along(function, rows)} {' '.join(map(argument, rows))}"
    else:
        return None
    what = {ast.Apply: "It works", ast.IfExp: "A choice is made"}.get(type(whole), "Operators work")
    hint = f"{what} on single values: {new}"
    if (first := _called_first(checker, whole)) is not None:
        return f"A call comes before an operator: {first}, or for each element {new}"
    if op == "*" and len(leaves) == 2 and isinstance(leaves[0].exp, ast.ArrayExp) and len(
            leaves[0].exp.items) == 1 and not leaves[1].rank:
        new = f"replicate {argument(leaves[1].exp.span.text)} {_text(leaves[0].exp.items[0])}"
        return Replacement(f"Equal elements are: {new}", new, place, hint)
    if op == "+" and len(arrays) == len(leaves) == 2:
        joined = " ++ ".join(names)
        otherwise = Replacement(f"Arrays are joined by ++: {joined}", joined, place)
        hint += f".  {otherwise}"
    if OPERATORS.get(op, ("", None, False))[2]:
        otherwise = Replacement(f"An array of comparisons is one by 'and': and ({new})",
                                f"(and ({new}))", place)
    return _in_call(place, new) or Replacement(hint, new, place, otherwise or hint)


def _along(function: str, arrays: Collection[str]) -> str:
    """The call of map, map2 or the like that applies a function to elements of arrays."""
    return f"map{len(arrays) if len(arrays) > 1 else ''} {function}"


class _Leaf(NamedTuple):
    """A part of an expression that has a type, the type of its elements, and its dimensions."""

    exp: ast.Exp
    elem: Type
    rank: int


def _operands(exp: Node) -> tuple[ast.Exp, ...]:
    """The expressions that an operator or a function gets."""
    match exp:
        case ast.BinExp(_, op, left, right):
            return (left, right) * (str(op) in _ELEMENTWISE)
        case ast.Negate(_, arg):
            return (arg,)
        case ast.Apply(_, _, args):
            return args
        case ast.IfExp(_, cond, then, otherwise):
            return cond, then, otherwise
    return ()


def _is_single(checker: Checker, exp: Node) -> bool:
    """True if an operator or a function is of single values."""
    operands = _operands(exp)
    if isinstance(exp, ast.IfExp) or any(isinstance(each, ast.StringLit) for each in operands):
        return False
    type_ = exp.fun.type if isinstance(exp, ast.Apply) else None
    for _ in operands:
        head = None if type_ is None else checker.solved.head(type_)
        if head is None:
            break
        if not isinstance(head, Arrow) or checker.solved.head(head.domain) not in NUMBERS:
            return False
        type_ = head.codomain
    if type_ is not None and isinstance(checker.solved.head(type_), Array):
        return False  # of arrays such as iota n, whose sizes may differ
    return bool(operands)


def _leaves(checker: Checker, exp: ast.Exp) -> list[_Leaf]:
    """The largest parts of an expression that have a type; none if a part of it has none."""
    types = _types(checker, ast.Apply(exp.span, exp, ()))
    if types is not None:
        return [_Leaf(exp, elem_of(checker.solved.resolve(types[0])), _rank(checker, types[0]))]
    parts = [_leaves(checker, each) for each in _operands(exp)]
    return [leaf for part in parts for leaf in part] if all(parts) else []


def _called_first(checker: Checker, whole: ast.Exp) -> str | None:
    """The call in ``iota n + 1`` with the sum as its argument; None if that does not fit."""
    match whole:
        case ast.BinExp(_, op, ast.Apply(_, fun, (*others, last)), right):
            types = _types(checker, ast.Apply(whole.span, last, (right,)))
            if types is not None and _rank(checker, types[0]) == 0 and _unify(
                    checker, types[0], types[1][0]):
                before = " ".join(map(_text, (fun, *others)))
                return f"{before} ({_text(last)} {op} {_text(right)})"
    return None


def of_rows(call: ast.Apply | ast.Name, array: str) -> str | None:
    """The advice about an array of arrays where one of numbers is wanted: its rows, or all of it.

    The array may come from a pipe.  None for a function of which neither makes sense.
    """
    given = call.args if isinstance(call, ast.Apply) else ()
    name, args = call.span.text.partition(" ")[0], [argument(arg.span.text) for arg in given]
    if re.fullmatch(r"map\d?", name):
        new = " ".join([f"{name} ({name} {args[0]})", *args[1:]])
        return Replacement(f"The function is of single values: {new}", new, call.span)
    if name in FUNCTIONS and name not in _REDUCED:
        return None
    texts = [arg.span.text for arg in given]
    last = argument(array)
    if array not in texts:
        rows, whole = f"map {argument(call.span.text)}", f"flatten |> {call.span.text}"
    elif array == texts[-1]:
        before = " ".join([name, *args[:-1]])
        rows, whole = f"map {argument(before)} {last}", f"{before} (flatten {last})"
    else:
        body = " ".join([name, *("row" if text == array else argument(text) for text in texts)])
        rows = f"map (\\row -> {body}) {last}"
        return Replacement(f"Each row is an array: {rows}", rows, call.span)
    either = f"For each row: {rows}.  For all elements: {whole}."
    return Replacement(f"All elements are in one array: {whole}", whole, call.span, Replacement(
        f"Each row is an array: {rows}", rows, call.span, either))


_REDUCED = frozenset({*FOLDS, "filter", "all", "any", "and", "or", "partition"})
"""Functions of an array that are often meant for all elements of a matrix."""


def balanced(span: Span) -> Span:
    """The place of an operation with the parentheses of its first and its last operand."""
    text, depths = span.source.text, [0, *accumulate(
        (c == "(") - (c == ")") for c in span.text)]
    start, end = span.start, span.end
    for _ in range(-min(depths)):
        start = text.rfind("(", 0, start)
    for _ in range(depths[-1] - min(depths)):
        end = text.find(")", end) + 1
    return Span(span.source, start, end)


def _in_call(place: Span, new: str) -> str | None:
    """The hint for ``map (xs + 1) xs`` or ``any (xs < 0)``: a function of an element is meant.

    ``new`` maps the function.  None for an operation that stands elsewhere.
    """
    text = place.source.text
    found = re.fullmatch(r"map (\(.*\)) ([\w']+)", new)
    before = re.search(r"\b(map|filter|all|any|partition|length)\s*\($", text[:place.start])
    if found is None or before is None or text[place.end:place.end + 1] != ")":
        return None
    if before[1] == "length":
        kept = f"filter {found[1]} {found[2]}"
        return Replacement(f"The elements that are so are: {kept}", kept, place)
    given = re.compile(rf"\)\s*{re.escape(found[2])}(?![\w'.\[])").match(text, place.end)
    shown = found[1] if given else f"{found[1]} {found[2]}"
    return Replacement(f"Operators work on single values: {before[1]} {found[1]} {found[2]}",
                       shown, Span(place.source, place.start - 1, place.end + 1))


def composed(checker: Checker, call: ast.Exp | None) -> str | None:
    """The hint that functions are composed in the other direction; None if they do not fit so."""
    other = {"<-<": ">->", ">->": "<-<"}
    if not isinstance(call, ast.BinExp) or str(call.op) not in other:
        return None
    types = _types(checker, ast.Apply(call.span, call.left, (call.right,)))
    first, second = (None, None) if types is None else (
        checker.solved.head(each) for each in (types[0], types[1][0]))
    old, new = str(call.op), other[str(call.op)]
    if old == ">->":
        first, second = second, first
    if not isinstance(first, Arrow) or not isinstance(second, Arrow) or not _unify(
            checker, second.domain, first.codomain):
        return None
    text = call.span.source.text
    chain = re.compile(r"(?:[^\n()]|\([^()\n]*\))*").match(text, call.span.start)
    end = chain.end() if chain is not None else call.span.end
    return Replacement(f"The {'right' if old == '<-<' else 'left'} function of {old} is applied "
                       f"first.  The other direction is {new}.",
                       text[call.span.start:end].replace(old, new),
                       Span(call.span.source, call.span.start, end))


def curried(checker: Checker, call: ast.Exp | None, span: Span) -> str | None:
    """The hint for a function of several arguments where one of a tuple is meant; None if unclear.

    That is in a derivative, or mapped to an array of tuples.
    """
    first = call.args[0] if isinstance(call, ast.Apply) else None
    if not isinstance(call, ast.Apply) or first is None or first.span != span:
        return None
    if call.fun.span.text == "map" and len(call.args) == 2:
        typed = _types(checker, ast.Apply(call.span, call.args[1], ()))
        array = checker.solved.resolve(typed[0]) if typed is not None else None
        if not isinstance(array, Array) or not isinstance(array.elem, Tuple):
            return None
        names = [*"xyzuvw"][:len(array.elem.items)]
        op = re.fullmatch(r"\(\s*(\S+)\s*\)", span.text)
        body = f" {op[1]} ".join(names) if op else " ".join([span.text, *names])
        new = f"\\({', '.join(names)}) -> {body}"
        return Replacement(f"Its argument is a tuple: {new}", f"({new})", span)
    if call.fun.span.text not in DERIVATIVES:
        return None
    if not isinstance(first, ast.LambdaExp) or len(first.params) < 2:
        return (f"{call.fun.span.text} takes a function of one argument, which may be a tuple: "
                f"\\(x, y) -> {first.span.text} x y") if isinstance(first, ast.Name) else None
    params = ", ".join(param.span.text.strip("()") for param in first.params)
    hint = f"It takes one argument, which may be a tuple: \\({params}) -> e"
    return Replacement(hint, f"({params})", first.params[0].span.to(first.params[-1].span), hint)


_OF_ELEMENTS = frozenset({"map", "filter", "all", "any", "partition"})


def uncurried(checker: Checker, typed: Sequence[Node], span: Span, otherwise: str | None
              ) -> Replacement | None:
    """The hint for ``map (\\p q -> e) (zip ps qs)`` around a place: a tuple is meant.

    ``otherwise`` is the hint if that is no cure.  None if no such call is around.
    """
    for exp in reversed(typed):
        match exp:
            case ast.Apply(_, fun, (ast.LambdaExp(whole, (_, *_, last) as params), array)) if (
                    fun.span.text in _OF_ELEMENTS and array.type is not None
                    and span in whole):
                given = checker.solved.resolve(array.type)
                if isinstance(given, Array) and isinstance(given.elem, Tuple) and len(
                        given.elem.items) == len(params):
                    head = f"\\({', '.join(param.span.text for param in params)})"
                    behind = whole.source.text[last.span.end:whole.end]
                    return Replacement(f"The function takes one tuple: {head} -> e", head + behind,
                                       Span(whole.source, whole.start, whole.end), otherwise or "")
    return None


def exchanged(checker: Checker, typed: Sequence[Node], expected: Type, found: Type, span: Span,
              otherwise: str | None) -> str | None:
    """The hint that components of a tuple, or of an array's tuples, fit in one other order.

    ``otherwise`` is the hint if they do not.
    """
    wanted, given = (elem_of(checker.solved.resolve(each)) for each in (expected, found))
    if not isinstance(wanted, Tuple) or not isinstance(given, Tuple) or not (
            1 < len(wanted.items) == len(given.items) <= MOST_ARGUMENTS):
        return otherwise
    orders = [order for order in permutations(range(len(given.items))) if _unify(checker, *(
        each for wanted_, k in zip(wanted.items, order, strict=True)
        for each in (wanted_, given.items[k])))]
    if len(orders) != 1:
        return otherwise
    hint = "The components stand in another order: "
    for exp in reversed(typed):
        match exp:
            case ast.TupleExp(place, items) if place == span and len(items) == len(orders[0]):
                new = f"({', '.join(items[k].span.text for k in orders[0])})"
                return Replacement(hint + new, new, None, otherwise or "")
            case ast.Apply(place, fun, args) if place == span and re.fullmatch(
                    r"zip\d?", fun.span.text) and len(args) == len(orders[0]):
                new = _call(exp, (args[k] for k in orders[0]))
                return Replacement(hint + new, new, None, otherwise or "")
    return otherwise


def labelled(call: ast.Exp) -> str | None:
    """The hint for a text beside the value of ``trace``; None if it is another call."""
    if not isinstance(call, ast.Apply) or call.fun.span.text != "trace":
        return None
    values = [arg for arg in call.args if not isinstance(arg, ast.StringLit)]
    if len(values) != 1:
        return "It shows one value, and gives it back: trace x"
    new = _call(call, values)
    return Replacement(f"It shows one value, without a text: {new}", new, call.span)


def elem_of(type_: Type) -> Type:
    """The type of the elements of an array, or of arrays of arrays; the type of another value."""
    while isinstance(type_, Array):
        type_ = type_.elem
    return type_


def _rank(checker: Checker, type_: Type) -> int:
    """The number of dimensions of a type."""
    rank = 0
    while isinstance(head := checker.solved.head(type_), Array):
        rank, type_ = rank + 1, head.elem
    return rank


def miscounted(checker: Checker, call: ast.Exp | None) -> str | None:
    """The hint that arguments of a call fit without some of them, or with one more."""
    if not isinstance(call, ast.Apply) or len(call.args) > MOST_ARGUMENTS:
        return None
    typed = _typed(checker, call)
    if typed is None:
        return None
    domains, given = typed
    neutral = NEUTRAL.get(call.fun.span.text, -1)
    if neutral < len(call.args) and _NEUTRAL.fullmatch(call.args[neutral].span.text):
        neutral = -1  # that is one
    for skipped in sorted(range(len(domains) - 1), key=lambda k: (k != neutral, -k)):
        others = [*domains[:skipped], *domains[skipped + 1:]]
        if len(others) == len(given) and _fit(checker, others, given):
            param, text = domains[skipped], call.args[skipped].span.text
            if skipped == neutral:
                return f"The neutral element is missing before {text}, behind the operator."
            name = f"{param.param.base}, " if param.param is not None else ""
            type_ = checker.solved.resolve(param.domain)
            kind = "a function" if isinstance(type_, Arrow) else (
                "of another type" if metas(type_) else f"of type {show(type_)}")
            said = f"An argument is missing before {text}: {name}{kind}."
            operator = {"leq, ": "(<=)", "equal, ": "(==)"}.get(name)
            if operator is None:
                return said
            args = [_text(arg) for arg in call.args]
            new = " ".join([call.fun.span.text, *args[:skipped], operator, *args[skipped:]])
            return Replacement(f"An argument is missing before {text}: {new}", new, call.span, said)
    fitting = [kept for kept in combinations(range(len(given)), len(domains)) if len(kept) < len(
        given) and _fit(checker, domains, [given[k] for k in kept])]
    said = f"It takes {len(domains)} argument{'s' * (len(domains) != 1)}"
    if len(fitting) != 1:
        return f"{said}." if fitting else None
    new = _call(call, (call.args[k] for k in fitting[0]))
    return Replacement(f"{said}: {new}", new, call.span)


def function_given(checker: Checker, expected: Type, found: Type, text: str,
                   call: ast.Exp | None) -> str | None:
    """The advice about a function where another value is wanted, or about a wrong count."""
    wanted, type_, count = checker.solved.head(expected), checker.solved.head(found), 0
    hint = miscounted(checker, call)
    if not isinstance(type_, Arrow) or isinstance(wanted, Arrow) or (
            isinstance(wanted, MetaVar) and wanted.id not in checker.solved.allowed):
        return hint
    while isinstance(type_, Arrow):
        count, type_ = count + 1, checker.solved.head(type_.codomain)
    more = " more" * (" " in text and text[0] != "(")
    hint = hint or f"It is a function, which takes {count}{more} argument{'s' * (count != 1)}."
    texts = [argument(arg.span.text) for arg in call.args] if isinstance(call, ast.Apply) else []
    if not isinstance(call, ast.Apply) or text not in texts[:-1]:
        return hint
    first = texts.index(text)
    inner = f"({' '.join(texts[first:first + 1 + count])})"
    new = " ".join([call.fun.span.text, *texts[:first], inner, *texts[first + 1 + count:]])
    return Replacement(f"A call as an argument stands in parentheses: {inner}", new, call.span,
                       hint)


def of_one_type(typed: Sequence[Node], labels: Sequence[Label]) -> tuple[str, ...]:
    """The hint about a local function, with a label, that has a parameter without a type."""
    return tuple(f"All calls of a local function have one type: define {exp.name} for each type, "
                 "or convert the argument." for exp in typed if isinstance(exp, ast.LetFun)
                 and exp.span in [each.span for each in labels]
                 and any(isinstance(param, ast.PatName) for param in exp.params))


def lacks_inner(checker: Checker, call: ast.Apply) -> bool:
    """True if a call lacks an argument, and its last one fits as the last parameter."""
    typed = _typed(checker, call)
    if typed is None:
        return False
    domains, given = typed
    return len(domains) == len(given) + 1 and any(
        _fit(checker, [*domains[:skipped], *domains[skipped + 1:]], given)
        for skipped in range(len(given)))


def _types(checker: Checker, call: ast.Apply) -> tuple[Type, list[Type]] | None:
    """The types of a function and its arguments; None if one of them is wrong itself."""
    state, said = checker.solved.snapshot(), len(checker.errors)
    try:
        return checker.infer(call.fun), [checker.infer(arg) for arg in call.args]
    except ProgramError:
        checker.solved.restore(state)
        return None
    finally:
        del checker.errors[said:]


class _Typed(NamedTuple):
    """The function types of a call's function, one for each parameter, and its arguments' types."""

    domains: list[Arrow]
    given: list[Type]


def _typed(checker: Checker, call: ast.Apply) -> _Typed | None:
    """The parameters and arguments of a call; None if one of its parts is wrong itself."""
    types = _types(checker, call)
    if types is None:
        return None
    type_, given = types
    domains = []
    while isinstance(head := checker.solved.head(type_), Arrow):
        domains.append(head)
        type_ = head.codomain
    return _Typed(domains, given)


def _fit(checker: Checker, wanted: Iterable[Arrow], given: Iterable[Type]) -> bool:
    """True if arguments of some types fit the parameters."""
    return _unify(checker, *(each for arrow, type_ in zip(wanted, given, strict=True)
                             for each in (arrow.domain, type_)))


def _unify(checker: Checker, *types: Type) -> bool:
    """True if each two types in their order can be equal, all at once."""
    state = checker.solved.snapshot()
    try:
        for left, right in zip(types[::2], types[1::2], strict=True):
            checker.solved.unify(left, right)
    except (TypeMismatch, SizeMismatch, FunctionalType, IrregularType):
        return False
    finally:
        checker.solved.restore(state)
    return True


def _call(call: ast.Apply, args: Iterable[ast.Exp]) -> str:
    return " ".join([call.fun.span.text, *(_text(arg) for arg in args)])


def _text(arg: ast.Exp) -> str:
    """The text of an argument, in parentheses if it has such in the call."""
    source, span = arg.span.source.text, arg.span
    alone = source[span.start - 1:span.start] == "(" and source[span.end:span.end + 1] == ")"
    return f"({span.text})" if alone else argument(span.text) if isinstance(
        arg, ast.Negate | ast.BinExp | ast.Apply) else span.text
