"""The tables of parsers, which come with Runelift: to make them takes up to more than a second.

They serve one version of Lark; where another is installed, they are made at first use and kept in
the user's cache.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import lark
import platformdirs
from lark import Lark, Token, Tree
from lark.parse_tree_builder import ExpandSingleChild, PropagatePositions
from lark.parsers.lalr_analysis import Action

FOLDER = Path(__file__).parents[2]
"""The folder of the package ``runelift``."""


class Tables:
    """A grammar, ``NAME.lark`` of a package, with the tables of its parser, ``NAME.tables``."""

    def __init__(self, package: str, name: str, options: Mapping[str, Any]) -> None:
        self._folder = FOLDER.joinpath(*package.split(".")[1:])
        self._name = name
        self._options = dict(options)
        self.file = f"{name}.tables"
        self.grammar = cache(self._load)
        """The parser, made once in a process."""

    @property
    def text(self) -> str:
        """The text of the grammar."""
        return (self._folder / f"{self._name}.lark").read_text("utf-8")

    @property
    def made_from(self) -> bytes:
        """A hash of the sources that valid tables are made from: text, options, version of Lark."""
        parts = "ready", self.text, repr(sorted(self._options.items())), lark.__version__
        return hashlib.sha256("\0".join(parts).encode()).hexdigest().encode()

    def write(self, path: Path) -> None:
        """Make the tables, and write them."""
        out = io.BytesIO()
        _Pickler(out, pickle.HIGHEST_PROTOCOL).dump(_ready(Lark(self.text, **self._options)))
        path.write_bytes(self.made_from + b"\n" + zlib.compress(out.getvalue(), 9))

    def _load(self) -> Lark:
        try:
            made_for, _, content = (self._folder / self.file).read_bytes().partition(b"\n")
            if made_for == self.made_from:
                ready: Lark = pickle.loads(zlib.decompress(content))
                return ready
        except (OSError, zlib.error):
            pass
        try:
            kept = Path(platformdirs.user_cache_dir("runelift"))
            kept.mkdir(parents=True, exist_ok=True)
            return _ready(Lark(self.text, cache=str(kept / f"{self._name}.lark.cache"),
                               **self._options))
        except (OSError, EOFError, ValueError):
            return _ready(Lark(self.text, **self._options))


def _ready(parser: Lark) -> Lark:
    """A parser whose trees know where they start and end, but not their lines.

    The names in its tables are strings; Lark leaves tokens there, which take longer to compare.
    """
    inner = parser.parser.parser.parser
    callbacks: dict[Any, Any] = inner.callbacks
    for rule, each in callbacks.items():
        places = isinstance(each, PropagatePositions)
        builder = each.node_builder if places else each
        if isinstance(builder, ExpandSingleChild) and len(rule.expansion) == 1:
            callbacks[rule] = itemgetter(0)  # half of all steps of a parser: the child itself
        elif places:
            callbacks[rule] = _Places(builder)
    names = dict[str, str]()

    def plain(name: str) -> str:
        return names.setdefault(str(name), str(name))

    rules = {each: each for each in callbacks if not isinstance(each, str)}
    for rule in rules:
        rule.origin.name = plain(rule.origin.name)
    states: dict[int, Any] = inner.parse_table.states
    for state, actions in states.items():
        states[state] = {plain(name): (action, to if isinstance(to, int) else rules[to])
                         for name, (action, to) in actions.items()}
    for terminal in parser.terminals:
        terminal.name = plain(terminal.name)
    return parser


class Extent:
    """The places at which a tree starts and ends, without and with tokens that it leaves out."""

    __slots__ = ("end_pos", "first", "last", "start_pos")

    def __init__(self, start: int, end: int) -> None:
        self.start_pos, self.end_pos = start, end
        self.first, self.last = start, end


class _Places:
    """Gives trees the places that Lark's ``PropagatePositions`` gives them, in half the time."""

    def __init__(self, builder: Callable[[list[Any]], Any]) -> None:
        self._builder = builder

    def __call__(self, children: list[Any]) -> Any:
        made = self._builder(children)
        if not isinstance(made, Tree):
            return made
        first: Any
        last: Any
        for child in children:
            if isinstance(child, Token):
                first = child.start_pos
            elif isinstance(child, Tree) and child._meta is not None:
                first = child._meta.first  # type: ignore[attr-defined]
            else:
                continue
            if first is not None:
                break
        else:
            return made
        for child in reversed(children):
            if isinstance(child, Token):
                last = child.end_pos
            elif isinstance(child, Tree) and child._meta is not None:
                last = child._meta.last  # type: ignore[attr-defined]
            else:
                continue
            if last is not None:
                break
        extent: Any = made._meta
        if extent is None:
            made._meta = Extent(first, last)  # type: ignore[assignment]
        else:
            extent.first, extent.last = first, last
        return made


class _Pickler(pickle.Pickler):
    """Writes modules, and the two actions of Lark's parsers, as names."""

    def reducer_override(self, part: Any) -> Any:
        if isinstance(part, ModuleType):
            return import_module, (part.__name__,)
        return part.name if isinstance(part, Action) else NotImplemented
