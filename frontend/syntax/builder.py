"""From the parser's tree to the surface syntax tree.

:class:`_Builder` turns each production of the grammar into a node of
:mod:`~runelift.frontend.syntax.ast` or :mod:`~runelift.frontend.syntax.module_ast`, and applies
operator precedence to flat chains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from lark import Token, Tree

from runelift.frontend.syntax import ast, module_ast, paths
from runelift.frontend.syntax.attributes import is_known
from runelift.frontend.syntax.literals import character, number, string
from runelift.frontend.syntax.operators import CHARACTERS, precedence, resolve
from runelift.ir.base.errors import Diagnostic, ProgramError, Replacement
from runelift.ir.base.source import Source, Span
from runelift.ir.points import PlacedAttribute, is_point

_ELEMENT = re.compile(r"(-)?([^\s,\[\]]+)")
"""An element of the token NUMBERS."""

MOST_CONSTRUCTORS = 256
"""The most constructors that a sum type can have."""


_NODES = {
    "mod_ascript": module_ast.ModAscript, "mod_name": module_ast.ModName,
    "include_spec": module_ast.IncludeSpec, "sig_name": module_ast.SigName,
    "pat_ascript": ast.PatAscript, "ascript": ast.Ascript, "coerce": ast.Coerce,
    "type_name": ast.TypeName, "if_exp": ast.IfExp, "case": ast.Case, "loop": ast.LoopExp,
    "for_in": ast.ForInForm, "while_form": ast.WhileForm, "not_exp": ast.Not}
"""The nodes whose fields are the children of a production, in order."""


_DECLARATIONS = frozenset({"val_dec", "type_dec", "mod_dec", "sig_dec", "open_dec", "import_dec",
                           "local_dec"})
"""The productions that are declarations."""
_MEANINGLESS = object()
"""Stands for a node with an error, up to the declaration around it."""


def built(source: Source, tree: Any) -> tuple[Any, tuple[Diagnostic, ...]]:
    """The node of a parser's tree, and the errors that are found when it is made."""
    builder = _Builder(source)
    node = builder.node(tree)
    return node, tuple(builder.errors)


class _Builder:
    """From the children of productions to nodes: a method for each that is not in ``_NODES``.

    A declaration with errors becomes a :class:`~.module_ast.BrokenDec`.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.errors: list[Diagnostic] = []

    def node(self, tree: Any) -> Any:
        """The node of a tree, and what stands for it in the node around."""
        children = [self.node(child) if isinstance(child, Tree) else child
                    for child in tree.children]
        extent = tree._meta
        span = (Span(self.source, 0, 0) if extent is None
                else Span(self.source, extent.start_pos, extent.end_pos))
        if self.errors and _MEANINGLESS in children:
            return module_ast.BrokenDec(span) if tree.data in _DECLARATIONS else _MEANINGLESS
        if (node := _NODES.get(tree.data)) is not None:
            return node(span, *children)
        make = getattr(self, tree.data, None)
        if make is None:
            raise AssertionError(f"no builder for {tree.data}")
        try:
            return make(span, children)
        except ProgramError as error:
            self.errors += error.diagnostics
            return module_ast.BrokenDec(span) if tree.data in _DECLARATIONS else _MEANINGLESS

    def _token_span(self, token: Token) -> Span:
        return Span(self.source, token.start_pos or 0, token.end_pos or 0)

    # Declarations

    def start(self, span: Span, children: list[Any]) -> module_ast.Module:
        return module_ast.Module(span, tuple(children))

    def val_dec(self, span: Span, children: list[Any]) -> ast.ValDec:
        *front, ret, body = children
        attrs = tuple(attr for c in front if isinstance(c, _Attributes) for attr in c.names)
        _check_no_point(attrs, span)
        entry = any(c == "entry" for c in front if isinstance(c, Token))
        name, name_span = next((c.name, c.span) if isinstance(c, _Spanned) else c
                               for c in front if isinstance(c, tuple | _Spanned))
        params = tuple(ast.PatName(self._token_span(c), str(c)) if isinstance(c, Token) else c
                       for c in front if isinstance(c, ast.Pattern)
                       or (isinstance(c, Token) and c.type == "NAME"))
        type_params = tuple(c for c in front if isinstance(c, ast.SizeParam | ast.TypeParam))
        return ast.ValDec(span, name, name_span, entry, type_params, params, ret, body, attrs)

    def dec_name(self, span: Span, children: list[Any]) -> tuple[str, Span]:
        (name,) = children
        return (name.name if isinstance(name, _Spanned) else str(name)), span

    def type_dec(self, span: Span, children: list[Any]) -> ast.TypeDec:
        word, name, *params, definition = _without_attrs(children)
        return ast.TypeDec(span, str(name), tuple(params), definition, _lifted(word))

    def broken_dec(self, span: Span, children: list[Any]) -> module_ast.BrokenDec:
        return module_ast.BrokenDec(span)

    # Modules

    def mod_dec(self, span: Span, children: list[Any]) -> module_ast.ModDec:
        name, *params, sig, mod = _without_attrs(children)
        if sig is not None:
            mod = module_ast.ModAscript(mod.span, mod, sig)
        for param, domain in reversed(params):
            mod = module_ast.ModLambda(span, param, domain, mod)
        return module_ast.ModDec(span, str(name), mod)

    def mod_param(self, span: Span, children: list[Any]) -> tuple[str, module_ast.SigExp]:
        return str(children[0]), children[1]

    sig_param = mod_param

    def sig_dec(self, span: Span, children: list[Any]) -> module_ast.SigDec:
        _, name, sig = _without_attrs(children)
        return module_ast.SigDec(span, str(name), sig)

    def open_dec(self, span: Span, children: list[Any]) -> module_ast.OpenDec:
        return module_ast.OpenDec(span, children[-1])

    def import_dec(self, span: Span, children: list[Any]) -> module_ast.LocalDec:
        opened = module_ast.OpenDec(span, self.mod_import(span, children[-1:]))
        return module_ast.LocalDec(span, opened)

    def local_dec(self, span: Span, children: list[Any]) -> module_ast.LocalDec:
        return module_ast.LocalDec(span, children[-1])

    def mod_lambda(self, span: Span, children: list[Any]) -> module_ast.ModLambda:
        (param, domain), sig, body = children
        if sig is not None:
            body = module_ast.ModAscript(body.span, body, sig)
        return module_ast.ModLambda(span, param, domain, body)

    def mod_app(self, span: Span, children: list[Any]) -> module_ast.ModExp:
        first, *args = children
        mod: module_ast.ModExp = first
        for arg in args:
            mod = module_ast.ModApply(span, mod, arg)
        return mod

    def mod_body(self, span: Span, children: list[Any]) -> module_ast.ModBody:
        return module_ast.ModBody(span, tuple(children))

    def mod_import(self, span: Span, children: list[Any]) -> module_ast.ModImport:
        return module_ast.ModImport(span, str(children[-1])[1:-1])

    def sig_arrow(self, span: Span, children: list[Any]) -> module_ast.SigArrow:
        domain, codomain = children
        if isinstance(domain, tuple):
            return module_ast.SigArrow(span, domain[0], domain[1], codomain)
        return module_ast.SigArrow(span, None, domain, codomain)

    def sig_with(self, span: Span, children: list[Any]) -> module_ast.SigWith:
        sig, name, *params, definition = children
        return module_ast.SigWith(span, sig, name, tuple(params), definition)

    def sig_body(self, span: Span, children: list[Any]) -> module_ast.SigBody:
        return module_ast.SigBody(span, tuple(_without_attrs(children)))

    def val_spec(self, span: Span, children: list[Any]) -> module_ast.ValSpec:
        name, *params, type_ = children
        return module_ast.ValSpec(span, name, tuple(params), type_)

    def spec_name(self, span: Span, children: list[Any]) -> str:
        (name,) = children
        return name.name if isinstance(name, _Spanned) else str(name)

    def type_spec(self, span: Span, children: list[Any]) -> module_ast.TypeSpec:
        word, name, *params, definition = children
        return module_ast.TypeSpec(span, str(name), tuple(params), definition, _lifted(word))

    def mod_spec(self, span: Span, children: list[Any]) -> module_ast.ModSpec:
        return module_ast.ModSpec(span, str(children[0]), children[1])

    def attr(self, span: Span, children: list[Any]) -> _Attributes:
        (text,) = children
        if not is_known(text, span):
            return _Attributes(())
        return _Attributes((PlacedAttribute.at(text, span) if is_point(text) else text,))

    def attr_form(self, span: Span, children: list[Any]) -> str:
        (word,) = children
        if word.type == "INT" and re.search("[iu]", word):
            raise ProgramError(Diagnostic("syntax-error", span, "A number in an attribute has no "
                                          "type."))
        return str(word)

    def attr_local(self, span: Span, children: list[Any]) -> str:
        return "local"  # a keyword that names a memory, too

    def attr_call(self, span: Span, children: list[Any]) -> str:
        name, *arguments = children
        return f"{name}({','.join(each for each in arguments if each is not None)})"

    def type_param(self, span: Span, children: list[Any]) -> Any:
        return children[0]

    def size_param(self, span: Span, children: list[Any]) -> ast.SizeParam:
        return ast.SizeParam(span, str(children[1]))

    let_size = size_param

    def type_var(self, span: Span, children: list[Any]) -> ast.TypeParam:
        text = str(children[0])[1:].strip()
        kind = text[0] if text[0] in "~^" else ""
        return ast.TypeParam(span, text[len(kind):].strip(), kind)

    # Types

    def type_arrow(self, span: Span, children: list[Any]) -> ast.TypeArrow:
        domain, codomain = children
        if isinstance(domain, tuple):
            return ast.TypeArrow(span, domain[0], domain[1], codomain)
        return ast.TypeArrow(span, None, domain, codomain)

    def named_domain(self, span: Span, children: list[Any]) -> tuple[str, ast.TypeExp]:
        return str(children[0]), children[1]

    def type_size(self, span: Span, children: list[Any]) -> str:
        return str(children[1])

    def type_exists(self, span: Span, children: list[Any]) -> ast.TypeExists:
        *sizes, type_ = children
        return ast.TypeExists(span, tuple(sizes), type_)

    def type_unique(self, span: Span, children: list[Any]) -> ast.TypeUnique:
        op, type_ = children
        if op != "*":
            raise ProgramError(Diagnostic("syntax-error", self._token_span(op),
                                          f"Unexpected '{op}' in a type.", hints=(
                                              "There are no references: leave it out.",)
                                          * (str(op) == "&")))
        return ast.TypeUnique(span, type_)

    def type_app(self, span: Span, children: list[Any]) -> ast.TypeName:
        name, *args = children
        return ast.TypeName(span, name, tuple(args))

    def type_arg(self, span: Span, children: list[Any]) -> Any:
        return children[0]

    def size_arg(self, span: Span, children: list[Any]) -> ast.SizeArg:
        return ast.SizeArg(span, children[1])

    def type_array(self, span: Span, children: list[Any]) -> ast.TypeArray:
        return ast.TypeArray(span, children[1], children[2])

    def type_tuple(self, span: Span, children: list[Any]) -> Any:
        items = tuple(c for c in children if c is not None and not isinstance(c, Token))
        return items[0] if len(items) == 1 else ast.TypeTuple(span, items)

    def type_record(self, span: Span, children: list[Any]) -> ast.TypeExp:
        fields = [c for c in children if isinstance(c, tuple)]
        if (items := _as_tuple(fields)) is not None:
            return ast.TypeTuple(span, items)
        return ast.TypeRecord(span, tuple(sorted(fields, key=lambda field: str(field[0]))))

    def type_field(self, span: Span, children: list[Any]) -> tuple[str, ast.TypeExp]:
        return str(children[0]), children[1]

    def type_sum(self, span: Span, children: list[Any]) -> ast.TypeSum:
        for op in children[1::2]:
            if op != "|":
                raise ProgramError(Diagnostic("syntax-error", self._token_span(op),
                                              f"Unexpected '{op}' in a type."))
        if len(children) > 2 * MOST_CONSTRUCTORS:
            raise ProgramError(Diagnostic("too-many-constructors", span, "A sum type has at most "
                                          f"{MOST_CONSTRUCTORS} constructors."))
        constructors = sorted(children[0::2], key=lambda c: str(c[0]))
        for (name, _), (following, _) in pairwise(constructors):
            if name == following:
                raise ProgramError(Diagnostic("duplicate-name", span,
                                              f"Constructor '#{name}' is listed twice."))
        return ast.TypeSum(span, tuple(constructors))

    def type_constr(self, span: Span,
                    children: list[Any]) -> tuple[str, tuple[ast.TypeExp, ...]]:
        name, *args = children
        return str(name)[1:], tuple(args)

    def qual_name(self, span: Span, children: list[Any]) -> ast.QualName:
        parts = [str(children[0]), *(str(c)[1:] for c in children[1:])]
        return ast.QualName(tuple(parts[:-1]), parts[-1])

    # Patterns

    def pat_name(self, span: Span, children: list[Any]) -> ast.PatName:
        (name,) = children
        return name if isinstance(name, ast.PatName) else ast.PatName(span, str(name))

    pat_op = pat_var = pat_name

    def pat_wild(self, span: Span, children: list[Any]) -> ast.PatWild:
        return ast.PatWild(span)

    def pat_constr(self, span: Span, children: list[Any]) -> ast.PatConstr:
        name, *items = children
        return ast.PatConstr(span, str(name)[1:], tuple(items))

    pat_apply = pat_constr

    def pat_literal(self, span: Span, children: list[Any]) -> ast.PatLiteral:
        literal = self.literal(span, children[-1:])
        if len(children) > 1:
            literal.value = -literal.value
        return ast.PatLiteral(span, literal)

    def pat_attr(self, span: Span, children: list[Any]) -> Any:
        _check_no_point(children[0].names, span)
        return children[1]

    def pat_tuple(self, span: Span, children: list[Any]) -> ast.Pattern:
        items = tuple(c for c in children if c is not None)
        return items[0] if len(items) == 1 else ast.PatTuple(span, items)

    def pat_record(self, span: Span, children: list[Any]) -> ast.Pattern:
        fields = [c for c in children if c is not None]
        if (items := _as_tuple(fields)) is not None:
            return ast.PatTuple(span, items)
        return ast.PatRecord(span, tuple(fields))

    def pat_field(self, span: Span, children: list[Any]) -> tuple[str, ast.Pattern]:
        name, pattern = children
        if pattern is None:
            _check_readable(str(name), span)
        return str(name), pattern or ast.PatName(self._token_span(name), str(name))

    def typed_field(self, span: Span, children: list[Any]) -> tuple[str, ast.Pattern]:
        name, type_ = children
        _check_readable(str(name), span)
        pattern = ast.PatName(self._token_span(name), str(name))
        return str(name), ast.PatAscript(span, pattern, type_)

    # Expressions

    def range(self, span: Span, children: list[Any]) -> ast.Range:
        first, second, kind, last = children
        return ast.Range(span, first, second, str(kind), last)

    def update(self, span: Span, children: list[Any]) -> ast.Exp:
        whole, *steps, value = children
        return paths.update(span, whole, _path(steps), value)

    def chain(self, span: Span, children: list[Any]) -> ast.Exp:
        return resolve(children)

    def op(self, span: Span, children: list[Any]) -> Any:
        name = _operator(children[0])
        return _Spanned(name.quals, name.name, span)

    section_operator = op

    def negate(self, span: Span, children: list[Any]) -> ast.Exp:
        return ast.Negate(span, children[1])

    def app_lambda(self, span: Span, children: list[Any]) -> ast.Exp:
        fun, *args = children
        if isinstance(fun, ast.Constr) and not fun.args:
            return ast.Constr(span, fun.name, tuple(args))
        return ast.Apply(span, fun, tuple(args))

    def app(self, span: Span, children: list[Any]) -> ast.Exp:
        fun, *args = children
        if isinstance(fun, ast.Name) and str(fun.name) == "assert" and len(args) == 2:
            return ast.AssertExp(span, args[0], args[1])
        if isinstance(fun, ast.Constr) and not fun.args:
            return ast.Constr(span, fun.name, tuple(args))
        return ast.Apply(span, fun, tuple(args))

    def local_open(self, span: Span, children: list[Any]) -> ast.LocalOpen:
        module, _, body = children
        return ast.LocalOpen(span, module, body)

    def constr(self, span: Span, children: list[Any]) -> ast.Constr:
        return ast.Constr(span, str(children[0])[1:])

    def literal(self, span: Span, children: list[Any]) -> Any:
        (token,) = children
        match token.type:
            case "TRUE" | "FALSE":
                return ast.Literal(span, token.type == "TRUE", None)
            case "CHAR":
                return ast.Literal(span, character(str(token), span), None)
            case "STRING":
                return ast.StringLit(span, string(str(token), span))
        value, prim = number(str(token), span)
        return ast.Literal(span, value, prim)

    def hole(self, span: Span, children: list[Any]) -> ast.Hole:
        return ast.Hole(span)

    def name(self, span: Span, children: list[Any]) -> ast.Name:
        _check_readable(str(children[0]), span)
        return ast.Name(span, ast.QualName((), str(children[0])))

    def tuple_exp(self, span: Span, children: list[Any]) -> ast.TupleExp:
        return ast.TupleExp(span, tuple(c for c in children if c is not None))

    def record(self, span: Span, children: list[Any]) -> ast.Exp:
        fields = [c for c in children if c is not None]
        if (items := _as_tuple(fields)) is not None:
            return ast.TupleExp(span, items)
        return ast.RecordExp(span, tuple(fields))

    def field(self, span: Span, children: list[Any]) -> tuple[str, ast.Exp]:
        name, value = children
        if value is None:
            _check_readable(str(name), span)
        pun = ast.Name(self._token_span(name), ast.QualName((), str(name)))
        return str(name), value if value is not None else pun

    def numbers(self, span: Span, children: list[Any]) -> ast.ArrayExp:
        """An array literal of numbers, which is one token."""
        items: list[ast.Exp] = []
        for found in _ELEMENT.finditer(children[0]):
            place = Span(self.source, span.start + found.start(), span.start + found.end())
            digits = Span(self.source, place.start + bool(found[1]), place.end)
            literal = ast.Literal(digits, *number(found[2], digits))
            items.append(ast.Negate(place, literal) if found[1] else literal)
        return ast.ArrayExp(span, tuple(items))

    def array(self, span: Span, children: list[Any]) -> ast.ArrayExp:
        return ast.ArrayExp(span, tuple(c for c in children[1:] if c is not None))

    def project(self, span: Span, children: list[Any]) -> ast.Project:
        record, name = children[0], str(children[1])[1:]
        _check_readable(name, span)
        return ast.Project(span, record, name)

    def index(self, span: Span, children: list[Any]) -> ast.IndexExp:
        array, _, dims = children
        return ast.IndexExp(span, array, dims)

    def dims(self, span: Span, children: list[Any]) -> tuple[Any, ...]:
        return tuple(c for c in children if c is not None)

    def slice(self, span: Span, children: list[Any]) -> ast.SliceExp:
        if len(children) == 2:  # start :: step
            return ast.SliceExp(span, children[0], None, children[1])
        start, stop, step = children
        return ast.SliceExp(span, start, stop, step)

    def section_op(self, span: Span, children: list[Any]) -> ast.OpSection:
        return ast.OpSection(span, children[0].plain)

    def section_left(self, span: Span, children: list[Any]) -> ast.OpSection:
        *operands, op = children
        if any(precedence(other.name) < precedence(op.name) for other in operands[1::2]):
            raise ProgramError(Diagnostic(
                "syntax-error", op.span, f"An operand of '{op.name}' is missing.",
                hints=("It binds more tightly than what stands before it: use parentheses.",)))
        return ast.OpSection(span, op.plain, left=resolve(operands))

    def section_right(self, span: Span, children: list[Any]) -> ast.OpSection:
        return ast.OpSection(span, children[0].plain, right=children[1])

    def section_path(self, span: Span, children: list[Any]) -> ast.Exp:
        return paths.section(span, _path(children))

    def let_pat(self, span: Span, children: list[Any]) -> ast.LetPat:
        *sizes, pattern, value, body = children
        return ast.LetPat(span, tuple(sizes), pattern, value, body)

    def let_fun(self, span: Span, children: list[Any]) -> ast.LetFun:
        name, *params, ret, value, body = children
        type_params = tuple(p for p in params if isinstance(p, ast.SizeParam | ast.TypeParam))
        patterns = tuple(p for p in params if isinstance(p, ast.Pattern))
        if not patterns:
            raise ProgramError(Diagnostic(
                "syntax-error", type_params[0].span, f"'{name}' has parameters for sizes or types, "
                "but none for values: only functions that 'let' binds have them.",
                hints=(f"Give it a parameter, or bind a lambda: let {name} = \\x -> e.",)))
        return ast.LetFun(span, str(name), type_params, patterns, ret, value, body)

    def let_with(self, span: Span, children: list[Any]) -> ast.Exp:
        name, *steps, value, body = children
        return paths.let_update(span, str(name), self._token_span(name), _path(steps), value, body)

    def match_exp(self, span: Span, children: list[Any]) -> ast.MatchExp:
        value, *cases = children
        return ast.MatchExp(span, value, tuple(cases))

    def for_form(self, span: Span, children: list[Any]) -> ast.ForForm:
        pattern, op, bound = children
        if op != "<":
            last = bound.span.text if isinstance(bound, ast.Name | ast.Literal) else (
                f"({bound.span.text})")
            new = f"{pattern.span.text} < {last} + 1"
            hint = "Write 'for i < n' or 'for x in xs'." if op != "<=" else Replacement(
                f"A loop ends before its bound: for {new}", new, pattern.span.to(bound.span))
            raise ProgramError(Diagnostic("syntax-error", self._token_span(op),
                                          f"Unexpected '{op}' in a for loop.", hints=(hint,)))
        return ast.ForForm(span, pattern, bound)

    def attr_exp(self, span: Span, children: list[Any]) -> ast.Exp:
        attribute, exp = children
        for name in attribute.names:
            exp = ast.AttrExp(span, name, exp)
        return cast(ast.Exp, exp)

    def lambda_exp(self, span: Span, children: list[Any]) -> ast.LambdaExp:
        *params, ret, body = children
        return ast.LambdaExp(span, tuple(params), ret, body)


def _check_readable(name: str, span: Span) -> None:
    """Refuse the use of a name that begins with an underscore."""
    if name.startswith("_"):
        raise ProgramError(Diagnostic("syntax-error", span, f"Use of '{name}', which begins with "
                                      "an underscore, as only names do that are not used.",
                                      hints=("Give it another name.",)))


def _check_no_point(attrs: Iterable[str], span: Span) -> None:
    """Refuse a rewrite point that does not stand before an expression."""
    for attr in filter(is_point, attrs):
        at = getattr(attr, "span", None) or span
        raise ProgramError(Diagnostic(
            "point-does-not-match", at, "A rewrite point stands before the expression that it is "
            "about, not before a declaration or pattern.",
            hints=(f"Write #[{attr}] in front of a map, reduce or the like.",)))


def _path(steps: list[Any]) -> paths.Path:
    """The fields and indices of a path, without the brackets and dots."""
    return [step if isinstance(step, tuple) else str(step).removeprefix(".")
            for step in steps if isinstance(step, tuple) or step.type in {"FIELD", "NAME", "INT"}]


def _lifted(word: Any) -> str:
    """The sign ``~`` or ``^`` behind ``type``, with or without a blank between."""
    return word[-1] if word[-1] in "~^" else ""


def _without_attrs(children: list[Any]) -> list[Any]:
    return [c for c in children if not isinstance(c, _Attributes)]


def _as_tuple(fields: list[tuple[str, Any]]) -> tuple[Any, ...] | None:
    """The components, if the fields are ``0``, ``1``, ..., as the fields of a tuple are."""
    known = dict(fields)
    labels = [str(k) for k in range(len(fields))]
    if len(fields) == 1 or set(known) != set(labels):
        return None
    return tuple(known[label] for label in labels)


@dataclass(frozen=True, slots=True)
class _Attributes:
    """The contents of ``#[...]``: the name of one attribute, or nothing if it is unknown."""

    names: tuple[str, ...]


class _Spanned:
    """An operator in a chain, and where it stands."""

    def __init__(self, quals: tuple[str, ...], name: str, span: Span) -> None:
        self.plain = ast.QualName(quals, name)
        self.name = name
        self.span = span


def _operator(token: Token) -> ast.QualName:
    text = str(token)
    if token.type == "BACKTICK":
        parts = text.strip("`").strip().split(".")
    elif token.type == "QUAL_OP":
        first = next(place for place, char in enumerate(text) if char in CHARACTERS)
        parts = [*text[:first - 1].split("."), text[first:]]
    else:
        parts = [text]
    return ast.QualName(tuple(parts[:-1]), parts[-1])
