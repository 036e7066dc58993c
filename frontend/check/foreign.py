"""Names of other languages, and what is written here in their place.

A name that only has another spelling here has a :class:`Spelling`, which editors can write.  Other
names have advice.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from functools import cache

from runelift.frontend.syntax import ast
from runelift.frontend.syntax.advice import ANEW, FUNCTION, RANGE
from runelift.frontend.syntax.types import Array, Record, Type
from runelift.ir.base.errors import Replacement
from runelift.ir.base.shipped import FOLDER
from runelift.ir.base.source import Span
from runelift.ir.prim import NUMBERS, Prim

ATOM = r"[\w'.]+(?:\[[^\[\]\n]*\])?|\((?:[^()\n]|\([^()\n]*\))*\)"
"""An argument in a call."""

SPELLINGS: Mapping[str, str] = {
    "True": "true", "False": "false", "TRUE": "true", "FALSE": "false",
    "len": "length", "size": "length", "foldr1": "foldr", "zipWith": "map2",
    "zipWith3": "map3", "append": "concat", "reversed": "reverse",
    "reduceByKey": "reduce_by_index", "transposed": "transpose", "roll": "rotate", "rev": "reverse",
    "fold_left": "foldl", "fold_right": "foldr",
    "stream_map": "map", "fmap": "map", "first": "head", "rest": "tail",
    "not": "!", "mod": "%", "div": "/", "/=": "!=", "<>": "!=", "===": "==", "=<": "<=",
    "!==": "!=", "=/=": "!=", "~=": "!=", ".*": "*", "++.": "++", "+.": "+", "-.": "-", "*.": "*",
    "/.": "/", "**.": "**", "^^": "**", "%>%": "|>", "%/%": "/", "&&&": "&&", "|||": "||",
}
"""Names and operators with another spelling here."""

OPERATORS: Mapping[str, str] = {"and": "&&", "or": "||", "mod": "%", "div": "/", "xor": "^",
                                "is": "==", "rem": "%%", "quot": "//",
                                "andalso": "&&", "orelse": "||", "band": "&", "bor": "|",
                                "shl": "<<", "lsl": "<<", "shr": ">>", "lsr": ">>>", "asr": ">>",
                                "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=",
                                "ge": ">="}
"""Words that are operators elsewhere."""

SHIPPED: Mapping[str, tuple[str, str]] = {
    "sort": ("sort", "sort (<=) xs"), "sorted": ("sort", "sort (<=) xs"),
    "argsort": ("sort", "argsort (<=) xs"), "unique": ("sort", "unique (==) (sort (<=) xs)"),
    "searchsorted": ("sort", "lower_bound (<=) xs x"), "bisect": ("sort", "upper_bound (<=) xs x"),
    "mean": ("stats", "stats_f32.mean xs"), "average": ("stats", "stats_f32.mean xs"),
    "avg": ("stats", "stats_f32.mean xs"), "var": ("stats", "stats_f32.variance xs"),
    "variance": ("stats", "stats_f32.variance xs"), "std": ("stats", "stats_f32.std xs"),
    "stdev": ("stats", "stats_f32.std xs"), "median": ("stats", "stats_f32.median xs"),
    "quantile": ("stats", "stats_f32.quantile xs q"),
    "percentile": ("stats", "stats_f32.quantile xs (p / 100)"),
    "argmax": ("stats", "stats_f32.argmax xs"), "argmin": ("stats", "stats_f32.argmin xs"),
    "histogram": ("stats", "stats_f32.histogram k low high xs"),
    "softmax": ("stats", "stats_f32.softmax xs"),
    "matmul": ("linalg", "linalg_f32.matmul a b"), "solve": ("linalg", "linalg_f32.solve a b"),
    "inv": ("linalg", "linalg_f32.inverse a"), "det": ("linalg", "linalg_f32.determinant a"),
    "norm": ("linalg", "linalg_f32.norm xs"), "outer": ("linalg", "linalg_f32.outer xs ys"),
    "convolve": ("windows", "windows_f32.convolve xs ys"),
    "correlate": ("windows", "windows_f32.correlate xs ys"),
    "pad": ("windows", "pad before after 0 xs"), "diff": ("windows", "diff (-) xs"),
    "random": ("random", "uniform_f32 n seed"), "rand": ("random", "uniform_f32 n seed"),
    "randn": ("random", "normal_f32 n seed"), "randint": ("random", "uniform_i64 low high n seed"),
    "shuffle": ("random", "shuffle seed xs"), "fft": ("fft", "fft_f32.fft (zip re im)"),
    "ifft": ("fft", "fft_f32.ifft (zip re im)"),
}
"""The shipped files that have such functions, and a call of them."""

ADVICE: Mapping[str, str] = {
    **{name: f'Write import "std/{file}" in the first line, and {call}.'
       for name, (file, call) in SHIPPED.items()},
    **dict.fromkeys(("pow", "power"), "Write x ** y."),
    "relu": "Write map (f32.max 0) xs.", "ReLU": "Write map (f32.max 0) xs.",
    "sigmoid": "Write map (\\x -> 1 / (1 + f32.exp (-x))) xs.",
    **dict.fromkeys(("sapply", "lapply", "vapply", "apply", "arrayfun", "Map", "vectorize"),
                    "Write map f xs."),
    **dict.fromkeys(("seq_len", "seq_along", "seq"), "Write iota n, or 1...n."),
    **dict.fromkeys(("Some", "Just", "Nothing", "nil", "undefined", "NULL"),
                    "Write a sum type: type maybe 't = #none | #some t"),
    **dict.fromkeys(("INT_MAX", "FLT_MAX", "DBL_MAX", "maxBound"),
                    "Write i32.highest, f32.highest."),
    **dict.fromkeys(("INFINITY", "Inf", "infinity"), "Write f32.inf."), "M_PI": "Write f32.pi.",
    **dict.fromkeys(("NAN", "NaN"), "Write f32.nan."),
    **dict.fromkeys(("threadIdx", "blockIdx", "blockDim", "get_global_id"),
                    "A function has the index of its element: tabulate n (\\i -> e)"),
    **dict.fromkeys(("atomicAdd", "atomic_add"), "Sums at places are: hist (+) 0 k is xs"),
    **dict.fromkeys(("fromIntegral", "realToFrac", "float_of_int", "toFloat"),
                    "A conversion names both types: f32.i64 x"),
    **dict.fromkeys(("grad", "gradient", "derivative"), "The gradient of f at x is: vjp f x 1"),
    "ref": "A name keeps its value, and a loop carries values: loop x = a for i < n do e",
    **dict.fromkeys(("print", "console", "printf", "println", "cat", "disp", "putStrLn", "fprintf"),
                    "A program has no output but its result; trace x shows x, and gives it back."),
    **dict.fromkeys(("even", "odd"), "Write x % 2 == 0, or x % 2 == 1."),
    **dict.fromkeys(("show", "str", "to_string", "repr", "num2str", "sprintf", "paste"),
                    "A program makes no text of a number: return the number itself."),
    **dict.fromkeys(("scanl", "scanl1", "accumulate"), "Write scan op ne xs, as in scan (+) 0 xs."),
    "dot": "Write f32.sum (map2 (*) xs ys).",
    "cumsum": "Write scan (+) 0 xs.", "cumprod": "Write scan (*) 1 xs.",
    "prod": "Write f32.product xs.", "arange": "Write iota n.", "range": "Write 0..<n.",
    "linspace": "Write map (\\i -> a + f64.i64 i * (b - a) / f64.i64 (n - 1)) (iota n).",
    "zeros": "Write replicate n 0.", "ones": "Write replicate n 1.", "full": "Write replicate n x.",
    **dict.fromkeys(("where", "ifelse"),
                    "Write map3 (\\c x y -> if c then x else y) cs xs ys, or filter."),
    **dict.fromkeys(("clip", "clamp"), "A value x is kept in bounds: f32.max low (f32.min x high)"),
    "elif": "Write 'else if'.", "subtract": "A function that subtracts is \\x -> x - 1",
    "assert": "It takes a condition in parentheses, and a value behind it: assert (n > 0) x",
    **dict.fromkeys(("eye", "identity"),
                    "Write tabulate_2d n n (\\i j -> if i == j then 1 else 0)."),
    "enumerate": "Write zip (indices xs) xs.",
    "bincount": "Write hist (+) 0 k is (map (const 1) is).",
    "unsafe": "Write #[unsafe] before the expression.",
    "rearrange": "Write transpose and map.",
    "shape": "Name the sizes: def f [n][m] (xss: [n][m]i32) = n",
    "math": "Write f32.sqrt, f64.sqrt, ...: the functions are members of the types.",
    "np": "Functions have no module in front: sum is f32.sum, max is f32.maximum.",
    "numpy": "Functions have no module in front: sum is f32.sum, max is f32.maximum.",
    "torch": "Functions have no module in front: sum is f32.sum, max is f32.maximum.",
    **dict.fromkeys(("Math", "cmath"), "Functions are members of the types: f32.sqrt, f64.sqrt."),
    "reshape": "Write unflatten xs, whose type has the new sizes, or flatten xs.",
    "empty": "An array without elements is ([] : [0]i32); null xs asks whether xs is one.",
    "%*%": 'Write import "std/linalg" in the first line, and linalg_f32.matmul a b.',
    "!!": "An element is written: xs[i]", "move": FUNCTION, "|&": FUNCTION,
    **dict.fromkeys((f"{op}=" for op in ("+", "-", "*", "/", "%", "**", "//", "&", "|", "^", "++")),
                    ANEW),
    **dict.fromkeys(("<-", "update", "setindex"),
                    "An element is replaced in a copy, or in an array that is yours alone: "
                    "xs with [i] = x"),
    "fst": "A component is written: e.0", "snd": "A component is written: e.1",
    "repeat": "Write replicate n x, or iterate n f x.", "tile": "Write flatten (replicate n xs).",
    **dict.fromkeys(("fn", "function", "func"), FUNCTION),
    "=>": FUNCTION,
    "stream_red": "Write reduce and map.",
    "None": "Write a sum type: type maybe 't = #none | #some t",
    "null": "Write a sum type: type maybe 't = #none | #some t",
    "lambda": FUNCTION,
    "fold": "Write reduce, or foldl.", "concatMap": "Write flatten (map f xs).",
    "foreach": "Write map.", "inf": "Write f32.inf.", "nan": "Write f32.nan.",
    "self": "There are no objects: a record is an argument.",
}
"""Advice about names that stand for more than a name here."""

MEMBERS: Mapping[str, str] = {
    **dict.fromkeys(("pow", "power"), "Write x ** y."), "square": "Write x * x.",
    "mean": ADVICE["mean"], "dot": ADVICE["dot"],
    **dict.fromkeys(("add", "sub", "mul", "div"), "Write an operator: x + y, or the function (+)."),
    "mod": "Write x % y.", "cast": "A conversion names both types: f32.i64 x",
    "to_string": "A program makes no text of a number.",
}
"""Advice about members of types of numbers in other languages."""

CONVERSIONS: Mapping[str, str] = {
    "int": "i64", "long": "i64", "float": "f32", "double": "f64", "bool": "bool",
    **{prim.value: prim.value for prim in Prim},
}
"""The types that functions of these names convert to in other languages."""

TYPES: Mapping[str, str] = {
    "int": "i32 or i64", "long": "i64", "short": "i16", "char": "u8", "byte": "u8",
    "unsigned": "u32", "float": "f32", "double": "f64", "real": "f64", "string": "[]u8",
    "String": "[]u8", "Int": "i64", "Float": "f32", "Double": "f64", "Bool": "bool",
    "boolean": "bool", "size_t": "i64", "void": "()", "usize": "i64", "isize": "i64",
    "integer": "i64", "Integer": "i64", "int_": "i64", "uint": "u32", "half": "f16", "str": "[]u8",
    "of": "", "numeric": "f64", "number": "f64", "Number": "f64", "logical": "bool", "unit": "()",
    **dict.fromkeys(("List", "Array", "Vec", "Vector", "vector", "Seq", "list", "array", "slice"),
                    "[]i32 or []f32"),
    **dict.fromkeys(("Tensor", "Matrix", "matrix", "ndarray"), "[][]f32 or [][]f64"),
    **dict.fromkeys(("struct", "record"), "{x: i32} or the like"),
    **{f"{kind}{bits}{end}": f"{kind[0].lower()}{bits}" for kind in ("int", "uint", "Int", "UInt")
       for bits in (8, 16, 32, 64) for end in ("", "_t")},
    **{f"{kind}{bits}": f"f{bits}" for kind in ("float", "Float") for bits in (16, 32, 64)},
}
"""The types here for types of other languages."""

METHODS: Mapping[str, str] = {
    "T": "transpose {xs}", "transpose": "transpose {xs}", "copy": "copy {xs}",
    "length": "length {xs}", "size": "length {xs}", "len": "length {xs}",
    "sum": "{t}.sum {xs}", "prod": "{t}.product {xs}", "max": "{t}.maximum {xs}",
    "min": "{t}.minimum {xs}", "mean": "{t}.sum {xs} / {t}.i64 (length {xs})",
    "flatten": "flatten {xs}", "ravel": "flatten {xs}", "any": "or {xs}", "all": "and {xs}",
    "reverse": "reverse {xs}", "head": "head {xs}", "last": "last {xs}", "tail": "tail {xs}",
    "cumsum": "scan (+) 0 {xs}", "clone": "copy {xs}",
    **dict.fromkeys(("iter", "into_iter", "collect", "tolist", "to_vec", "cpu", "cuda", "numpy"),
                    "{xs}"),
}
"""Expressions for methods and attributes of arrays in other languages; ``t`` is the element."""

TYPED_METHODS = frozenset({"sum", "prod", "max", "min", "mean"})
"""The methods that only arrays of numbers have."""

METHOD_ADVICE: Mapping[str, str] = {
    **dict.fromkeys(("backward", "grad"), "The gradient of f at x is: vjp f x 1"),
    "view": "Write unflatten xs, whose type has the new sizes, or flatten xs.",
    "size_of": "Write length xs.", "foreach": "Write map f xs.", "forEach": "Write map f xs.",
    "unsqueeze": "Write [xs], or map (\\x -> [x]) xs.", "squeeze": "Write flatten xss.",
    "ndim": "The type says how many dimensions there are.", "dtype": "The type says it.",
    "astype": "Convert the elements: map i64.f32 xs", "dot": ADVICE["dot"],
    **dict.fromkeys(("first", "front"), "Write head xs, or xs[0]."),
    "reshape": ADVICE["reshape"],
    "sort": ADVICE["sort"], "append": "Write xs ++ [x].", "push": "Write xs ++ [x].",
    **dict.fromkeys(("concat", "extend"), "Write xs ++ ys."), "slice": "Write xs[a:b].",
    "argmax": ADVICE["argmax"], "argmin": ADVICE["argmin"], "std": ADVICE["std"],
    "index": "Write xs[i].", "get": "Write xs[i].", "at": "Write xs[i].", "item": "Write xs[0].",
}
"""Advice about methods and attributes that have no expression above."""

SHORT = {"MAX": "highest", "MIN": "lowest", "INFINITY": "inf", "NAN": "nan", "EPSILON": "epsilon",
         "ln": "log", "sign": "sgn", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
         "arctan2": "atan2", "PI": "pi", "ceiling": "ceil", "rsqrt": "recip", "Inf": "inf",
         "NaN": "nan", "fabs": "abs", "fmax": "max", "fmin": "min", "truncate": "trunc"}
"""Members of types of numbers here, by other names for them."""

SUFFIXES = {"f": "f32", "d": "f64", "l": "i64", "ll": "i64", "u": "u32", "ul": "u64", "lu": "u64",
            "ull": "u64"}
"""The types of numbers with the suffixes of other languages."""

LAMBDAS = frozenset({"lambda", "function", "fn", "fun", "func", "=>"})
"""Words that functions without a name begin with."""
ALONE = LAMBDAS | {"<-"}
"""Unknown names that make further names unknown, which need not be told."""
ENDS = frozenset({"end", "endif", "fi", "done", "od", "begin", "endfor", "endfunction"})

_KEEPING = ("mut", "mutable", "var", "val", "const")
"""Words behind 'let' that say whether a name keeps its value."""

_CALL = re.compile(r"\s*\(\s*\)")


@cache
def shipped() -> Mapping[str, str]:
    """The shipped file that declares a name, without names that several declare."""
    found: dict[str, list[str]] = {}
    for file in FOLDER.iterdir():
        if file.name.endswith(".fut"):
            for name in re.findall(r"^(?:def|module) ([\w']+)", file.read_text("utf-8"), re.M):
                found.setdefault(name, []).append(file.name.removesuffix(".fut"))
    return {name: owners[0] for name, owners in found.items() if len(owners) == 1}


def recursive(name: str, span: Span) -> tuple[Span, str] | None:
    """The place and hint of ``let rec name`` or the like, which declares another name here."""
    kinds = "|".join(("rec", *_KEEPING, *CONVERSIONS))
    places = list(re.finditer(rf"\b(let|def)\s+({kinds})\s+{re.escape(name)}(?![\w'])",
                              span.source.text[:span.start]))
    inside = re.search(rf"\blet\s+({re.escape(name)})\s[^=]*=((?:(?!\ndef\b|\nentry\b).)*)$",
                       span.source.text[:span.start], re.DOTALL)
    if not places and inside is not None and _open(inside[2]):
        return span, ("A function that calls itself is a declaration of its own, with all that "
                      f"it needs as parameters: def {name} ... = e.  Or write a loop.")
    if not places:
        return None
    found = places[-1]
    place = Span(span.source, found.start(2), found.end(2))
    if found[2] in CONVERSIONS:
        new = f"{name}: {CONVERSIONS[found[2]]}"
        return place, Replacement(f"A type stands behind the name: let {new} = e", new,
                                  Span(span.source, found.start(2), found.end()))
    if found[2] in _KEEPING:
        return place, Replacement(f"A name keeps its value: there is no '{found[2]}'.", "")
    if found[1] == "def":
        return place, Replacement("A declaration may call itself without 'rec'.", "")
    return place, f"A function that calls itself is a declaration of its own: def {name} ... = e"


def _open(text: str) -> bool:
    """True if the value of a 'let' goes on behind ``text``, its beginning."""
    depth = 0
    for word in re.findall(r"\b(?:let|in)\b", re.sub(r"\bfor\s+[\w'(), :]+?\s+in\b", "", text)):
        depth += 1 if word == "let" else -1
        if depth < 0:
            return False
    return True


def comment(span: Span, *, unknown: bool) -> Span | None:
    """The beginning of a comment of another language, if ``span`` is in one.

    ``unknown``: it is an unknown name, so that a comment may be of one word.
    """
    text = span.source.text
    start = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", span.start)
    line = text[start:end if end >= 0 else len(text)]
    words = r"[A-Za-z']+[ \t]+[A-Za-z']+[.]?([ \t]|$)"
    found = (re.match(rf"\s*(//+|%+|/\*+)\s*(?={words})", line)
             or re.search(rf"\s(//+)[ \t]+(?={words})", line)
             or (re.match(r"\s*(//+|/\*+)\s*(?=[A-Za-z])", line) if unknown else None))
    if found is None or (start + found.start(1) > span.start and (
            text[span.end:start + found.start(1)].strip())):
        return None
    return Span(span.source, start + found.start(1), start + found.end(1))


def misapplied(exp: ast.Apply, type_: Type, known: Container[str]) -> str:
    """The hint for a value of a type that is applied as if it were a function.

    ``known`` are the names of functions.
    """
    first, text = exp.args[0].span, exp.fun.span.text
    if first.text == "is" and len(exp.args) > 2 and exp.args[1].span.text == "not":
        return Replacement("The operator is !=.", "!=", first.to(exp.args[1].span))
    if isinstance(exp.fun, ast.StringLit) or isinstance(exp.args[0], ast.StringLit):
        return "A comment begins with --." if '""' in exp.span.text else "Texts are joined by ++."
    if first.text in OPERATORS:
        new = OPERATORS[first.text]
        new = {"^": "!=", "&": "&&", "|": "||"}.get(new, new) if type_ is Prim.BOOL else new
        return Replacement(f"The operator is {new}.", new)
    if first.text == "as" and len(exp.args) > 1 and isinstance(type_, Prim):
        new = f"{CONVERSIONS.get(exp.args[1].span.text, 'f32')}.{type_} {argument(text)}"
        return Replacement(f"Convert it: {new}", new, alone(exp.fun.span).to(exp.args[1].span))
    if isinstance(exp.fun, ast.Literal) and first.start == exp.fun.span.end and (
            suffix := SUFFIXES.get(first.text.lower())):
        new = text + suffix
        return Replacement(f"A number of a type is written {new}.", new, exp.span, Replacement(
            f"A number is written without '{first.text}' here.", text, exp.span))
    if isinstance(exp.fun, ast.Literal | ast.Name) and (
            (isinstance(exp.fun, ast.Literal) and isinstance(exp.args[0], ast.Literal))
            or re.search(r"(?<![\w')\]])\[\s*$", exp.span.source.text[:exp.span.start])):
        new = ", ".join([text, *(arg.span.text for arg in exp.args)])
        return Replacement(f"Elements of an array have commas between them: {new}", new, exp.span)
    if isinstance(exp.fun, ast.Literal) and first.start <= exp.fun.span.end + 1 and (
            len(exp.args) == 1 and not isinstance(exp.args[0], ast.Literal)) and (
            not exp.span.source.text[exp.fun.span.end].isspace()):
        new = f"{text} * {argument(first.text)}"
        return Replacement(f"A product has its operator: {new}", new, exp.span)
    if said := swallowed(exp, 0):
        return said
    if isinstance(type_, Array) and isinstance(exp.args[0], ast.ArrayExp):
        new = text + first.text
        return Replacement(f"An index stands directly behind the array: {new}", new,
                           exp.fun.span.to(first))
    if isinstance(type_, Array) and len(exp.args) == 1 and (
            exp.span.source.text[exp.fun.span.end] == "("):
        new = f"{text}[{first.text.strip('()')}]"
        return Replacement(f"An element is written: {new}", new, exp.span)
    if isinstance(type_, Record) and isinstance(exp.args[0], ast.RecordExp):
        new = text
        for label, value in exp.args[0].fields:
            new = f"{argument(new)} with {label} = {value.span.text}"
        return Replacement(f"A field is replaced without braces: {new}", new, exp.span)
    if isinstance(exp.args[0], ast.TupleExp) and not exp.args[0].items:
        return Replacement(f"It takes no arguments: {text}", text, exp.fun.span.to(first))
    if "\n" in exp.span.source.text[exp.fun.span.end:first.start]:
        return "The next line goes on with this one: 'in' or an operator may be missing before it."
    line = exp.span.source.text.rfind("\n", 0, first.start) + 1
    if re.search(r"\\[^\n]*->", exp.span.source.text[line:first.start]):
        return ""
    if isinstance(exp.fun, ast.Name) and text in known:
        return f"This name hides the function '{text}': give it another name."
    source, before = exp.span.source, exp.span.source.text[:exp.span.start]
    if (found := re.search(r"\(\s*([-+*/%]|\*\*)\s*$", before)) and len(exp.args) == 1:
        new = f"{text} {found[1]} {first.text}"
        return Replacement(f"An operator stands between its operands: {new}", new,
                           Span(source, found.start(1), exp.span.end))
    return "An operator may be missing between them."


def size_parameter(name: str, span: Span) -> str:
    """The hint to declare an unknown size, which a function without size parameters may mean."""
    hint = f"Declare it as a size parameter before the others: [{name}]"
    head = re.search(r"(?:^|\n)(?:def|entry|let)[ \t]+([\w']+)(?![\w']|\s*\[)[^=]*$",
                     span.source.text[:span.start])
    if head is None:
        return hint
    place = Span(span.source, head.start(1), head.end(1))
    return Replacement(hint, f"{head[1]} [{name}]", place)


def in_function(name: str, span: Span) -> list[str]:
    """The hint for an unknown name in ``filter (x > 0) xs``, which may be its parameter."""
    found = re.search(r"\b(map|filter|all|any|partition)\s*\((?=[^()\n]*$)",
                      span.source.text[:span.start])
    if found is None or len(name) > 2 or "\\" in span.source.text[found.end():span.start]:
        return []
    place = Span(span.source, found.end() - 1, found.end())
    return [Replacement(FUNCTION, f"(\\{name} -> ", place)]


def swallowed(exp: ast.Apply, number: int) -> str | None:
    """The hint that a lambda's body goes to its end; None if the arguments from ``number`` are not
    behind a lambda in a call.
    """
    source, end = exp.span.source, exp.span.end
    text = source.text
    found = re.search(r"\b(map\d?|filter|reduce|scan|tabulate\w*|all|any)\b[^\n\\]*?(\(?)"
                      r"(\\[^\n\\]*?->[^\n]*)$", text[:exp.span.start])
    if found is None or number >= len(exp.args) or not (
            isinstance(exp.args[number], ast.Name) or text[exp.args[number].span.start - 1] == "("):
        return None
    inner = exp.args[number - 1] if number else exp.fun
    rest = text[exp.args[number].span.start - (not isinstance(exp.args[number], ast.Name)):end]
    if found[2]:
        if text[end:end + 1] != ")":
            return None
        end += 1
    start = found.start(3) - len(found[2])
    new = f"({text[found.start(3):inner.span.end]}) {rest}"
    return Replacement("The body of a lambda goes to its end: put it in parentheses, and "
                       f"{rest} behind them.", new, Span(source, start, end))


def bars(span: Span) -> list[str]:
    """The hint for a parameter between bars, which is unknown as ``span`` is no parameter here."""
    text = span.source.text
    found = re.compile(r"\|\s*([\w', ]+?|\([\w', ]+\)|&[\w&', ]+)\s*\|").search(
        text, max(0, span.start - 40))
    if found is None or not found.start() < span.start < found.end():
        return []
    params = found[1] if found[1][0] == "(" else found[1].replace(",", " ").replace("&", "")
    hint, new = FUNCTION, f"\\{params} ->"
    return [Replacement(hint, new, Span(span.source, found.start(), found.end()))]


def declared_size(name: str, place: Span | None) -> str:
    """The hint for a size that is declared as another type than i64, at ``place``."""
    hint = f"A size is an i64: declare ({name}: i64)"
    if place is None:
        return hint
    if place.text == name and re.match(r"\s*=", place.source.text[place.end:]):
        return Replacement(hint, f"{name}: i64", place)
    found = re.compile(r"\s*:\s*([iu]\d+)(?=\s*\))").match(place.source.text, place.end)
    if found is None or place.text != name:
        return hint
    return Replacement(hint, "i64", Span(place.source, place.start + found.start(1) - place.start,
                                         found.end(1)))


def called(function: str, arg: str, span: Span) -> str:
    """The hint for a function that is written behind its argument, as ``span`` has it.

    An array is the last of several arguments, but for zip, and a number the first.
    """
    call = re.compile(rf"\s*\(([^()\n]*)\)|((?:[ \t]+(?:{ATOM}))+)").match(
        span.source.text, span.end)
    texts = [] if call is None else [each.strip() for each in call[1].split(",")] if (
        call[1] is not None) else call[2].split()
    others = [argument(each) for each in texts if each]
    first = "." in function or function == "zip"
    args = [argument(arg), *others] if first else [*others, argument(arg)]
    new, end = " ".join([function, *args]), span.end if call is None else call.end()
    hint = "Functions stand before their arguments"
    return Replacement(f"{hint}: {new}", new, Span(span.source, span.start, end), f"{hint}.")


def consed(name: str, span: Span) -> str | None:
    """The hint for ``x : xs``, where ``span`` has the text of a type that is no type."""
    if not re.search(r"[\w')\]] :\s*$", span.source.text[:span.start]) or re.search(
            r"(\(|\blet\b)\s*[\w']+ :\s*$", span.source.text[:span.start]):
        return None
    return f"An element in front is written: [x] ++ {name}"


def bounds(span: Span) -> str | None:
    """The hint for ``a:n`` as a range, where ``span`` has the text of a type that is no type."""
    before = re.search(r"(?:\bin\s+[\w']+\s*|\b(\d+))(:\s*)$", span.source.text[:span.start])
    if before is None:
        return None
    return Replacement(RANGE, "..<" if before[1] in (None, "0") else "...",
                       Span(span.source, before.start(2), before.end(2)))


_VECTOR = re.compile(r"(d?vec|float|double|int|uint|long)([234])")
"""The name of a type of so many numbers."""
_VECTORS = {"vec": "f32", "dvec": "f64", "float": "f32", "double": "f64", "int": "i32",
            "uint": "u32", "long": "i64"}


def is_type(name: str) -> bool:
    """True if other languages have a type of this name."""
    return name in TYPES or _VECTOR.fullmatch(name) is not None or name in _OPTIONAL


_OPTIONAL = frozenset({"Maybe", "Option", "Optional", "option", "maybe", "optional", "Either",
                       "Result"})


def type_meant(name: str, span: Span) -> tuple[str, ...]:
    """Hints about the name of a type of other languages (:func:`is_type`)."""
    if name in _OPTIONAL:
        return ("Declare a sum type: type maybe 't = #none | #some t",)
    if vector := _VECTOR.fullmatch(name):
        new = f"({', '.join([_VECTORS[vector[1]]] * int(vector[2]))})"
        return (Replacement(f"Write {new}.", new, Span(span.source, span.start,
                                                       span.start + len(name))),)
    if name == "of":
        return ("The types of a constructor's values stand behind it: #a i32",)
    types = TYPES[name].split(" or ")
    hint = f"Write {TYPES[name]}."
    return (Replacement(hint, types[0]) if len(types) == 1 and span.text == name else hint,)


def array(elem: str, span: Span) -> str:
    """The hint for a type ``elem[n]``, which ``span`` has the text of."""
    sizes = span.text.removeprefix(elem)
    if re.fullmatch(r"(\[[\w' *+-]*\])+", sizes):
        return Replacement(f"An array of it is written {sizes}{elem}.", f"{sizes}{elem}")
    return f"An array of it is written []{elem}."


def method(name: str, array: Type, record: str, span: Span) -> list[str]:
    """Hints about ``record.name`` of other languages, which ``span`` has the text of."""
    if not isinstance(array, Array):
        return []
    if name.isdigit():
        new = f"{argument(record)}[{name}]"
        return [Replacement(f"An element is written: {new}", new, span)
                if span.text == f"{record}.{name}" else f"An element is written: {new}"]
    elem = array.elem
    if name in METHODS and not (name in TYPED_METHODS and elem not in NUMBERS):
        new = METHODS[name].format(xs=argument(record), t=elem)
        call = _CALL.match(span.source.text, span.end)
        whole = Span(span.source, span.start, call.end()) if call else span
        shown = f"Functions stand before their arguments: {new}" if new != argument(record) else (
            f"An array needs no '.{name}()': leave it out.")
        return [Replacement(shown, new, whole, shown) if span.text == f"{record}.{name}" else shown]
    if name in ("astype", "to", "type") and isinstance(elem, Prim):
        wanted = re.match(r"\(\s*(?:\w+\.)?(\w+)\s*\)", span.source.text[span.end:])
        to = TYPES.get(wanted[1], CONVERSIONS.get(wanted[1], "")) if wanted else ""
        if wanted is not None and to in {prim.value for prim in NUMBERS}:
            new = f"map {to}.{elem} {argument(record)}" if to != elem.value else record
            return [Replacement(f"Elements are converted: {new}", new,
                                Span(span.source, span.start, span.end + wanted.end()))]
    if name == "shape":
        return [_shape(array, record, span)]
    return [METHOD_ADVICE[name]] if name in METHOD_ADVICE else []


def _shape(array: Array, record: str, span: Span) -> str:
    """The hint for ``xs.shape`` or ``xs.shape[k]``."""
    sizes = list[str]()
    elem: Type = array
    while isinstance(elem, Array):
        sizes.append(elem.size.variable.base if elem.size.variable else "")
        elem = elem.elem
    named = set(re.findall(r"[\w']+", " ".join(re.findall(r"\[([\w']+)\]", span.source.text))))
    sizes = [each if each in named else "" for each in sizes]
    sizes[0] = sizes[0] or f"length {argument(record)}"
    index = re.compile(r"\[\s*(\d)\s*\]").match(span.source.text, span.end)
    if index and int(index[1]) < len(sizes) and (new := sizes[int(index[1])]):
        return Replacement(f"The size is {new}.", new if new.isidentifier() else f"({new})",
                           Span(span.source, span.start, index.end()))
    if all(sizes):
        return f"Its size{'s are' if len(sizes) > 1 else ' is'} {' and '.join(sizes)}."
    return "Name the sizes in the type: (xss: [n][m]f32); then they are n and m."


def is_python_lambda(exp: ast.Exp) -> bool:
    """True if an expression is the beginning of Python's ``lambda x: e``."""
    return isinstance(exp, ast.Apply) and isinstance(exp.fun, ast.Name) and (
        exp.fun.span.text == "lambda")


def lambda_of(exp: ast.Exp) -> list[str]:
    """The hint for the beginning of Python's ``lambda x: e``, which stands before its colon."""
    span, text = exp.span, exp.span.source.text
    params = span.text.removeprefix("lambda").replace(",", " ")
    colon = text.find(":", span.end)
    hint = FUNCTION
    if colon < 0 or text[span.end:colon].strip():
        return [hint]
    new = "\\" + " ".join(params.split()) + " ->"
    return [Replacement(hint, new, Span(span.source, span.start, colon + 1))]


def argument(text: str) -> str:
    """``text`` as an argument."""
    return text if re.fullmatch(ATOM, text) else f"({text})"


def alone(span: Span) -> Span:
    """A place with the parentheses around it, unless these belong to a call without a blank."""
    text = span.source.text
    if text[span.start - 1] == "(" and text[span.end:span.end + 1] == ")" and not re.match(
            r"[\w')\]]", text[span.start - 2]):
        return Span(span.source, span.start - 1, span.end + 1)
    return span
