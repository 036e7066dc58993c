"""Hints about names of other languages, of which the text around them tells more."""

from __future__ import annotations

import re

from runelift.frontend.check.foreign import (
    ADVICE,
    ATOM,
    CONVERSIONS,
    ENDS,
    LAMBDAS,
    SHIPPED,
    SHORT,
    SPELLINGS,
    SUFFIXES,
    argument,
    shipped,
)
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.advice import FUNCTION, assigned
from runelift.frontend.syntax.prelude import FUNCTIONS, member
from runelift.frontend.syntax.types import Type
from runelift.ir.base.errors import Replacement
from runelift.ir.base.source import Span
from runelift.ir.prim import NUMBERS, Prim

_MODULES = frozenset({"List", "Array", "Seq", "Float", "float", "double", "np", "numpy", "torch",
                      "jnp", "cp", "cupy", "math", "Math", "tf", "cmath"})
_OF_ARRAYS = {"max": "maximum", "amax": "maximum", "min": "minimum", "amin": "minimum",
              "prod": "product"}
_ARRAYS = frozenset({"c", "array", "list", "vec", "vector", "tensor", "Array", "Vector"})
_RANGES = frozenset({"range", "arange", "irange"})
_TEMPLATES = {
    **dict.fromkeys(("pow", "power", "powf"), "{0} ** {1}"), "fst": "{0}.0", "snd": "{0}.1",
    **dict.fromkeys(("div", "quot"), "{0} / {1}"), "mod": "{0} % {1}", "rem": "{0} %% {1}",
    "cumsum": "scan (+) 0 {0}", "cumprod": "scan (*) 1 {0}", "subtract": "{1} - {0}",
    "zeros": "replicate {0} 0", "ones": "replicate {0} 1", "full": "replicate {0} {1}",
    "arange": "iota {0}", "range": "0..<{0}",
    "enumerate": "zip (indices {0}) {0}", "concatMap": "flatten (map {0} {1})",
    "elem": "any (== {0}) {1}", "square": "{0} * {0}", "sqr": "{0} * {0}",
    **dict.fromkeys(("nrow", "numel", "rows"), "length {0}"), "ncol": "length {0}[0]",
    **dict.fromkeys(("grad", "gradient", "derivative"), "vjp {0} {1} 1"),
    "dot": "f32.sum (map2 (*) {0} {1})",
    "lerp": "{0} + ({1} - {0}) * {2}",
}
"""Expressions for calls of functions of other languages; braces have the number of an argument."""


def call_behind(span: Span, count: int) -> tuple[list[str], int] | None:
    """So many arguments behind a function, ``f(x, y)`` or ``f x y``, and their end; None if not."""
    text, place = span.source.text, span.end
    listed = re.compile(rf"\(\s*({ATOM}|[^(),\n]+)" + rf"\s*,\s*({ATOM}|[^(),\n]+)" * (count - 1)
                        + r"\s*\)").match(text, place)
    found = listed if listed is not None and (count > 1 or text[place] == "(") else re.compile(
        rf"[ \t]+({ATOM})" * count + r"(?![\w'.(]|[ \t]*[\w'(])").match(text, place)
    if found is None:
        return None
    texts = [each.strip() for each in found.groups()]
    return [each if re.fullmatch(ATOM, each) else f"({each})" for each in texts], found.end()


def _written(name: str, span: Span) -> list[str]:
    """The hint for a call of another language's function with its arguments; none if unclear."""
    template = _TEMPLATES.get(name, "")
    count = len(set(re.findall(r"\{\d\}", template)))
    found = call_behind(span, count) if count else None
    if found is None or span.text != name:
        return []
    new = template.format(*found[0])
    return [Replacement(f"Write {new}.", new, Span(span.source, span.start, found[1]),
                        ADVICE.get(name, ""))]


def meant(name: str, span: Span) -> list[str]:
    """Hints about a name of other languages at a place; none if it is not known."""
    if said := _around(name, span) or _written(name, span):
        return said
    if (spelling := SPELLINGS.get(name)) is not None:
        plain = f"Write {spelling}." if spelling.isidentifier() else ""
        return [Replacement(f"Write {spelling}.", spelling, None, plain)
                if span.text.strip("` ") == name else f"Write {spelling}."]
    if name in CONVERSIONS:
        to = CONVERSIONS[name]
        return [f"A conversion names both types: {to}.{'i64' if to[0] in 'fb' else 'f32'} x"]
    if file := shipped().get(name):
        hint = ADVICE.get(name, f'Write import "std/{file}" in the first line.')
        return [Replacement(hint, f'import "std/{file}"\n\n', Span(span.source, 0, 0))]
    if name in SHIPPED and f'"std/{SHIPPED[name][0]}"' in span.source.text:
        return [f"Write {SHIPPED[name][1]}."]
    return [ADVICE[name]] if name in ADVICE else []


def _around(name: str, span: Span) -> list[str]:
    """Hints about a name of other languages that the text around tells more about."""
    source, before, behind = span.source, span.source.text[:span.start], span.source.text[span.end:]
    if name in _MODULES and re.match(r"\.\w", behind):
        return _of_module(name, span)
    if name == "=>" and (params := re.search(
            r"(?:\b(?:fn|fun|function|lambda)\s+)?(\(\s*([\w', ]+)\)|[\w']+)\s*$", before)):
        new = "\\" + " ".join((params[2] or params[1]).replace(",", " ").split()) + " ->"
        return [Replacement(FUNCTION, new, Span(source, params.start(), span.end))]
    if (type_ := SUFFIXES.get(name.lower())) and (
            number := re.search(r"(?<![\w'.])\d[\d_]*(\.\d+)?([eE]-?\d+)?$", before)):
        new = number[0] + type_
        return [Replacement(f"A number of a type is written {new}.", new,
                            Span(source, number.start(), span.end))]
    if name == "static_cast" and (cast := re.match(rf"<(\w+)>({ATOM})", behind)) and (
            cast[1] in CONVERSIONS):
        return [f"A conversion names both types, as in {CONVERSIONS[cast[1]]}.f64 x."]
    if name in _RANGES and (drawn_from := _range(behind)) is not None:
        new, length = drawn_from
        alone = re.search(r"\bin\s*$", before) or re.search(r"\(\s*$", before)
        return [Replacement(f"Write {new}.", new if alone else f"({new})",
                            Span(source, span.start, span.end + length))]
    if name == "unsafe":
        return [Replacement("Write #[unsafe] before the expression.", "#[unsafe]")]
    if name in ("zeros", "ones") and (sizes := re.match(r"\s*\(+([\w', ]+)\)+", behind)):
        new = "01"[name == "ones"]
        for size in reversed(sizes[1].replace(",", " ").split()):
            new = f"replicate {size} {argument(new)}"
        return [Replacement(f"Write {new}.", f"({new})",
                            Span(source, span.start, span.end + sizes.end()))]
    if name == "<-" and (drawn := re.search(r"\|\s*([\w']+)\s*$", before)) is not None:
        return _around(drawn[1], Span(source, drawn.start(1), drawn.end(1)))
    if name == "<-" and (defined := re.search(r"(?:^|\n)[ \t]*([\w']+)\s*$", before)):
        return [Replacement(f"A name is defined with 'let': let {defined[1]} = e in ...",
                            f"let {defined[1]} =", Span(source, defined.start(1), span.end))]
    line = source.text.rfind("\n", 0, span.start) + 1
    drawn = re.compile(rf"\[([^\[\]|\n]*)\|\s*{re.escape(name)}\s*<-\s*([^\],\n]+)\]").search(
        source.text, line)
    if drawn is not None and drawn.start() < span.start < drawn.end():
        new = f"map (\\{name} -> {drawn[1].strip()}) {argument(drawn[2].strip())}"
        return [Replacement(f"An array of results is written: {new}", f"({new})",
                            Span(source, drawn.start(), drawn.end()))]
    if name == "return":
        return [Replacement("The value of a function is its body: there is no return.", "")]
    if name == "end" and (index := re.search(r"([\w']+)\[([^\[\]\n]*)$", before)) is not None:
        if not index[2].strip() and (close := re.match(r"\s*\]", behind)) is not None:
            new = f"last {index[1]}"
            return [Replacement(f"The last element is written: {new}", new,
                                Span(source, index.start(), span.end + close.end()))]
        return [f"The last index is length {index[1]} - 1, and a slice may have no end: xs[1:]"]
    if name.isdigit() and (items := re.search(r"\{([^{}]*)$", before)) is not None and (
            "}" in behind):
        rest = behind.partition("}")[0]
        new = f"[{items[1]}{name}{rest}]"
        return [Replacement(f"An array is written in brackets: {new}", new,
                            Span(source, items.start(), span.end + len(rest) + 1))]
    if name in LAMBDAS and (params := re.match(r"\s*\(([\w', ]+)\)", behind)) is not None:
        new = "\\" + " ".join(params[1].replace(",", " ").split()) + " ->"
        return [Replacement(FUNCTION, new, Span(source, span.start, span.end + params.end()))]
    if name in ENDS:
        return [Replacement(f"There is no '{name}': an expression ends where the next part begins.",
                            "")]
    if name in _ARRAYS and (items := re.match(r"\s*\(([^()\n]*)\)|\s*!\[([^\n]*?)\]", behind)):
        inner = (items[1] or items[2] or "").strip()
        new = inner if inner.startswith("[") else f"[{inner}]"
        return [Replacement(f"An array is written {new}.", new,
                            Span(source, span.start, span.end + items.end()))]
    if name in ("fst", "snd") and re.search(r"\b(map|filter|all|any)\s+$", before):
        new = f"(.{int(name == 'snd')})"
        return [Replacement(f"A function that takes a component is written {new}.", new)]
    if name[-1:] == "=" and name[:-1] in ("+", "-", "*", "/", "**", "%") and (
            updated := re.search(r"(?P<xs>[\w']+)\s*\[(?P<i>[^\[\]\n]*)\]\s*$", before)):
        xs, i = updated.groups()
        new = f"{xs} with [{i}] = {xs}[{i}] {name[:-1]}"
        return [Replacement(f"An update says the whole new value: {new} ...", new,
                            Span(source, updated.start(), span.end))]
    if name[:-1] in ("+", "-", "*", "/", "%", "**", "++") and name[-1] == "=":
        anew = assigned(source, before.rfind("\n") + 1, len(source.text))
        if anew is None or not anew[0].start < span.start < anew[0].end:
            anew = None
        words = "do" if name == "/=" else "do|then|else"  # it may be meant as !=
        if part := re.search(rf"\b({words})\s+[\w']+\s*$", before):
            what = "The body of a loop is" if part[1] == "do" else "An expression gives"
            return [Replacement(f"{what} the next value: write {name[:-1]} in place of {name}.",
                                name[:-1], None, anew[1] if anew else ADVICE[name])]
        return [anew[1]] if anew else []
    return []


def _of_module(name: str, span: Span) -> list[str]:
    """Hints about ``np.sum`` and the like, where ``span`` has the module's name."""
    source = span.source
    found = re.compile(r"\.(\w+)").match(source.text, span.end)
    assert found is not None
    whole = Span(source, span.start, found.end())
    new = SHORT.get(found[1], found[1])
    new = new if name.lower() in ("math", "cmath") else _OF_ARRAYS.get(new, new)
    if member("f32", new) is not None:
        said = f"Write f32.{new}: functions are members of the types."
        return [Replacement(said, f"f32.{new}", whole, said * (name.lower() in ("math", "cmath")))]
    if found[1] in FUNCTIONS or found[1] in SPELLINGS:
        new = SPELLINGS.get(found[1], found[1])
        return [Replacement(f"Write {new}, without a module.", new, whole)]
    return [ADVICE[found[1]]] if found[1] in ADVICE else []


def _range(behind: str) -> tuple[str, int] | None:
    """The range for the arguments of Python's ``range``, and their length; None if unclear."""
    found = re.match(r"\s*\(([^()\n]*)\)", behind)
    args = [each.strip() for each in found[1].split(",")] if found is not None else []
    if found is None or not 1 <= len(args) <= 3 or not all(args):
        return None
    first, end = (["0"] * (len(args) == 1) + args)[:2]
    if len(args) < 3:
        return f"{first}..<{end}", found.end()
    step = args[2]
    try:
        second = str(int(first) + int(step))
    except ValueError:
        second = f"{first} - {step[1:]}" if step[0] == "-" else f"{first} + {step}"
        second = step if first == "0" else second
    return f"{first}..{second}..{'>' if step.startswith('-') else '<'}{end}", found.end()


def converted(name: str, found: Type, arg: ast.Exp, call: Span) -> list[str]:
    """The hint for a call ``name arg`` of a type as if it were a function; none if it is unclear.

    ``found`` is the type of ``arg``.
    """
    to = CONVERSIONS[name]
    if isinstance(arg, ast.Literal) and not isinstance(arg.value, bool):
        new = f"{arg.span.text.strip('()')}{to}"
        return [Replacement(f"A number of this type is written {new}.", new, call)]
    if not isinstance(found, Prim) or (found not in NUMBERS and to == "bool"):
        return meant(name, call)
    if found.value == to:
        return [Replacement(f"It is {found} already.", arg.span.text, call)]
    hint: str = ""
    for each in ("i32", to) if name == "int" else (to,):
        new = f"{each}.{found} {argument(arg.span.text)}"
        hint = Replacement(f"Convert it: {new}", new, call, hint)
    return [hint]
