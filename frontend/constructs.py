"""Names of the constructs of a program, for messages about a place in it.

Devices know a place as a range of characters, without the syntax tree.
"""

from __future__ import annotations

from runelift.frontend.syntax import ast
from runelift.frontend.syntax.nodes import walk
from runelift.frontend.syntax.parser import parse
from runelift.ir.base.deep import deeply
from runelift.ir.base.source import Source

_WORDS: dict[type[ast.Exp], str] = {
    ast.Literal: "literal", ast.Hole: "hole", ast.StringLit: "string", ast.Name: "name",
    ast.TupleExp: "tuple", ast.RecordExp: "record", ast.ArrayExp: "array", ast.Range: "range",
    ast.Project: "field", ast.IndexExp: "index", ast.UpdateExp: "with", ast.RecordUpdate: "with",
    ast.Apply: "application", ast.BinExp: "operator", ast.Negate: "negation", ast.Not: "negation",
    ast.LambdaExp: "function", ast.OpSection: "operator section",
    ast.ProjectSection: "field section", ast.IndexSection: "index section", ast.IfExp: "if",
    ast.Constr: "constructor", ast.LocalOpen: "local open", ast.MatchExp: "match",
    ast.LetPat: "let", ast.LetFun: "let", ast.LetWith: "let", ast.LoopExp: "loop",
    ast.Ascript: "type ascription", ast.Coerce: "size coercion", ast.AssertExp: "assert",
    ast.AttrExp: "attribute",
}
"""The words for expressions that are no application of a named function."""


def construct_of(exp: ast.Exp) -> str:
    """The name of an expression's construct: of its function or operator, or of its syntax.

    >>> from runelift.frontend.syntax.parser import parse_exp
    >>> from runelift.ir.base.source import Source
    >>> [construct_of(parse_exp(Source("", each))) for each in ("map f xs", "x + y", "xs[i]")]
    ['map', 'operator +', 'index']
    """
    match exp:
        case ast.Apply(fun=fun) if (name := _function(fun)):
            return name
        case ast.BinExp(op=op):
            return f"operator {op}"
        case ast.AttrExp(value=value):
            return construct_of(value)
    return _WORDS[type(exp)]


def _function(exp: ast.Exp) -> str:
    """The name of a function in an application; "" if it has none."""
    match exp:
        case ast.Name(name=name):
            return str(name)
        case ast.Project(record=ast.Exp() as module, field_name=name):
            return f"{path}.{name}" if (path := _function(module)) else ""
        case ast.Apply(fun=fun):
            return _function(fun)
    return ""


def constructs(source: Source) -> dict[tuple[int, int], str]:
    """The names of a program's constructs by the range of their characters.

    Of several expressions with one range, the outermost counts.  ProgramError if the program has a
    syntax error.
    """
    found: dict[tuple[int, int], str] = {}
    for node in walk(deeply(parse)(source).decs):  # outer ones first
        if isinstance(node, ast.Exp):
            found.setdefault((node.span.start, node.span.end), construct_of(node))
    return found
