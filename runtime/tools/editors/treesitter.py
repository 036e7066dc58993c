"""The grammar for tree-sitter, whose parsers run in Neovim, Helix, Emacs and others.

``python -m runelift.runtime.tools.editors.treesitter`` writes the file from which the program
``tree-sitter`` generates the parser.  Rules come from Lark's grammar of the language, tokens from
the table that the formatter and the highlighters use.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any, TypeAlias, cast

import lark
from lark import Lark, Token, Tree

from runelift.frontend.syntax.parse_tables import SOURCE
from runelift.frontend.syntax.tokens import PATTERNS

Rule: TypeAlias = dict[str, Any]
"""A rule of tree-sitter's, as JSON."""

FOLDER = Path("docs", "editors", "tree-sitter")
"""The folder of the parser, in the tree."""
FILE = FOLDER / "src" / "grammar.json"
"""The file from which tree-sitter generates the parser."""

_BLANK: Rule = {"type": "BLANK"}
_OPERATOR = r"[-+*/%=!><|&^.]"
_TOKENS = {
    "NAME": ("identifier", PATTERNS["word"]),
    "FIELD": ("member", PATTERNS["field"]),
    "RANGE": ("range_operator", r"\.\.[.<>]"),
    "OP": ("operator", rf"[+*/%><|&^]{_OPERATOR}*|[=!]{_OPERATOR}+|-[+*/%=!<|&^.]{_OPERATOR}*"
                       rf"|->{_OPERATOR}+"),
    "QUAL_OP": ("qualified_operator", PATTERNS["qualified_operator"]),
    **{kind.upper(): (kind, PATTERNS[kind]) for kind in ("float", "char", "backtick")},
    "STRING": ("string", r'"(?:\\(?:.|\n)|[^"\\])*"'),
    "INT": ("integer", PATTERNS["integer"]),
    "CONSTR": ("constructor", PATTERNS["constructor"]),
    "TYPE_VAR": ("type_variable", PATTERNS["type_variable"]),
    "LIFTED": ("lifted_type", PATTERNS["lifted_type"]),
}
"""The nodes of terminals, and their expressions without a look at what stands around.

Tree-sitter takes the longest token, and of two a word or sign before an expression.  So an
operator is what no sign of the grammar is.
"""


def _choice(members: list[Rule]) -> Rule:
    return members[0] if len(members) == 1 else {"type": "CHOICE", "members": members}


def _sign(*texts: str) -> Rule:
    return _choice([{"type": "STRING", "value": text} for text in texts])


def _symbol(name: str) -> Rule:
    return {"type": "SYMBOL", "name": name}


def _pattern(text: str) -> Rule:
    return {"type": "PATTERN", "value": text}


_SIGNS = {
    "TYPE": _choice([_sign("type"), _symbol("lifted_type")]), "DEF": _sign("def", "entry"),
    "_LET": _sign("let"), "TRUE": _sign("true"), "FALSE": _sign("false"), "MINUS": _sign("-"),
    "LSQB": _sign("["), "DOT_OPEN": _sign(".["), "DOT_PAREN": _sign(".("),
    "OPEN": {"type": "IMMEDIATE_TOKEN", "content": _sign("[")},
}
"""Terminals that are words or signs; no blank stands before a bracket that indexes."""
_LEFT_OUT = {"NUMBERS", "BROKEN", "broken_dec"}
"""What only makes our own parser faster, or goes on behind errors."""
_SUPERTYPES = ("dec", "mod_exp", "sig", "type", "pat", "exp")


class _Translation:
    """Makes rules of the tree of Lark's grammar.

    A rule that passes on what it has found (``?rule``) becomes a hidden rule, ``_rule``: a choice
    of the nodes of its productions.
    """

    def __init__(self, tree: Tree[Token]) -> None:
        productions = {str(rule.children[0]): _alternatives(rule.children[-1])
                       for rule in cast(Any, tree.children) if rule.data == "rule"}
        productions = {name: kept for name, all_ in productions.items()
                       if (kept := [each for each in all_ if not _left_out(each)])}
        self._hidden = {name.strip("?") for name, alternatives in productions.items()
                        if name.startswith("?") or any(alias for _, alias in alternatives)}
        self.rules: dict[str, Rule] = {}
        self._repeated: dict[str, Rule] = {}
        for name, alternatives in productions.items():
            self._add(name, alternatives)

    def _add(self, name: str, alternatives: list[tuple[Tree[Token], str | None]]) -> None:
        """Add a rule, and one for each kind of node that it makes."""
        plain, passes_on = name.strip("?"), name.startswith("?")
        nodes: dict[str | None, list[Rule]] = {}
        for body, alias in alternatives:
            items = [item for item in _items(body) if item.data == "name"]
            single = passes_on and alias is None and len(items) == 1 == len(
                [item for item in _items(body) if item.data != "literal"])
            node = None if single and len(_items(body)) == 1 else alias or (
                f"{plain}_in_parens" if single else plain)
            nodes.setdefault(node, []).append(self._rule(body))
        if plain in self._hidden:
            passed = nodes.pop(None, [])
            self._set(f"_{plain}", [*passed, *(_symbol(cast(str, node)) for node in nodes)])
        for node, bodies in nodes.items():
            self._set(cast(str, node), bodies)

    def _set(self, name: str, bodies: list[Rule]) -> None:
        """Lark shifts where it could also reduce; for tree-sitter, the rule says so."""
        if name in self.rules:
            raise ValueError(f"two rules make nodes called {name}")
        self.rules[name] = {"type": "PREC_RIGHT", "value": 0, "content": _choice(bodies)}

    def _rule(self, tree: Tree[Token]) -> Rule:
        parts: list[Any] = tree.children
        match tree.data:
            case "expansion":
                return {"type": "SEQ", "members": [self._rule(part) for part in parts]}
            case "expansions":
                return _choice([self._rule(part) for part in parts])
            case "alias":
                return self._rule(parts[0])
            case "maybe":
                return _choice([self._rule(parts[0]), _BLANK])
            case "expr":
                return self._times(self._rule(parts[0]), parts[1])
            case "literal":
                return _sign(ast.literal_eval(parts[0]))
            case "name":
                return self._name(str(parts[0]))
        raise ValueError(f"Lark's {tree.data} has no counterpart")

    def _name(self, name: str) -> Rule:
        if name in _SIGNS:
            return _SIGNS[name]
        return _symbol(_TOKENS[name][0] if name in _TOKENS else
                       f"_{name}" if name in self._hidden else name)

    def _times(self, rule: Rule, operator: str | None) -> Rule:
        """Equal repetitions are one rule: what is read must not depend on what follows them."""
        if operator is None:
            return rule
        once = self._repeated.setdefault(json.dumps(rule), _symbol(
            f"_repeated_{len(self._repeated)}"))
        self.rules[once["name"]] = {"type": "REPEAT1", "content": rule}
        return once if operator == "+" else _choice([once, _BLANK])


def _alternatives(tree: Tree[Token]) -> list[tuple[Tree[Token], str | None]]:
    """The productions of a rule, each with the name that it gives its node."""
    aliases: list[Any] = tree.children if tree.data == "expansions" else [tree]
    return [(body, alias and str(alias)) for body, alias in (each.children for each in aliases)]


def _items(body: Tree[Token]) -> list[Tree[Token]]:
    """The parts of a production, each as it is if it stands alone, else what surrounds it."""
    expressions: list[Any] = body.children if body.data == "expansion" else [body]
    return [each.children[0] if each.children[1] is None else each for each in expressions]


def _left_out(alternative: tuple[Tree[Token], str | None]) -> bool:
    return any(token in _LEFT_OUT for token in alternative[0].scan_values(lambda _: True))


def grammar() -> Rule:
    """The grammar for tree-sitter as a JSON object."""
    reader = Lark.open("grammars/lark.lark", rel_to=lark.__file__, parser="lalr")
    rules = _Translation(reader.parse(SOURCE.text)).rules
    tokens = {name: _pattern(text) for name, text in _TOKENS.values()}
    comment = {"comment": _pattern(PATTERNS["comment"])}
    return {
        "name": "runelift", "word": "identifier",
        "rules": {"source_file": rules.pop("start"), **rules, **tokens, **comment},
        "extras": [_pattern(r"\s"), _symbol("comment")],
        "conflicts": [], "precedences": [], "externals": [], "inline": [],
        "supertypes": [f"_{name}" for name in _SUPERTYPES],
    }


def text() -> str:
    """The text of the grammar's file."""
    return json.dumps(grammar(), indent=2) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
