"""The types of arguments of public functions, looked at before anything is done with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import unwrap
from operator import index
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from runelift.ir.base.errors import ArgumentError
from runelift.ir.base.source import Source

Params = ParamSpec("Params")
Result = TypeVar("Result")


class Kind(NamedTuple):
    """The values that an argument may have: in words, by a test, and with an example."""

    words: str
    test: Callable[[Any], bool]
    example: str


def takes(**kinds: Kind) -> Callable[[Callable[Params, Result]], Callable[Params, Result]]:
    """A function whose arguments are of these kinds, by name; else ArgumentError with the cure."""
    def decorate(function: Callable[Params, Result]) -> Callable[Params, Result]:
        code = unwrap(function).__code__
        in_order = code.co_varnames[:code.co_argcount]
        places = [(in_order.index(name) if name in in_order else None, name, kind)
                  for name, kind in kinds.items()]

        @wraps(function)
        def checked(*args: Params.args, **kwargs: Params.kwargs) -> Result:
            __tracebackhide__ = True
            for place, name, kind in places:
                if place is not None and place < len(args):
                    check(name, args[place], kind)
                elif name in kwargs:
                    check(name, kwargs[name], kind)
            return function(*args, **kwargs)
        return checked
    return decorate


def check(name: str, value: Any, kind: Kind) -> None:
    """Raise ArgumentError unless a value is of the kind."""
    if not kind.test(value):
        raise ArgumentError(f"'{name}' should be {kind.words}, not {_shown(value)}.", name,
                            f"such as `{kind.example}`")


def _shown(value: Any) -> str:
    text = repr(value)
    kind = type(value).__name__
    return f"{text} of type {kind}" if len(text) <= 60 else f"a value of type {kind}"


def _is(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, types)


def _is_number(value: Any) -> bool:
    try:
        index(value)
    except TypeError:
        return False
    return not isinstance(value, bool | np.bool_)


def _is_names(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


def _is_numbers(value: Any) -> bool:
    return _is_names(value) and all(map(_is_number, value.values()))


def or_none(kind: Kind) -> Kind:
    """A kind that may be left out."""
    return Kind(f"{kind.words}, or None", lambda value: value is None or kind.test(value),
                kind.example)


TEXT = Kind("a text", _is(str), "'main'")
PROGRAM = Kind("a path or the text of a program", _is(str, Path, Source), "Path('program.fut')")
FUNCTION = Kind("a function", callable, "np.convolve")
FUNCTION_OR_TEXT = Kind("a function or the text of a program",
                        lambda value: isinstance(value, str) or callable(value),
                        "'entry f (x: i32) = x'")
PATH = Kind("a path", _is(str, Path), "Path('program.fut.tuning')")
TUNING = Kind("a path, or a dict from names to integers",
              lambda value: isinstance(value, str | Path) or _is_names(value),
              "{'main.map_0': 1024}")
SETTINGS = Kind("a dict from names to integers", _is_names, "{'main.map_0': 1024}")
THRESHOLDS = Kind("a dict from names to integers", _is_numbers, "{'main.map_0': 1024}")
FORCE = Kind("a dict from sites to numbers of versions", _is_numbers, "{'main.versions_0': 1}")
FLAG = Kind("True or False", _is(bool, np.bool_), "True")
COUNT = Kind("an integer from 1 up", lambda value: _is_number(value) and index(value) >= 1, "10")
BYTES = Kind("a number of bytes or a text",
             lambda value: isinstance(value, str) or _is_number(value), "'30MB'")
ARGUMENTS = Kind("a list of arguments", lambda value: isinstance(value, Sequence | np.ndarray)
                 and not isinstance(value, str | bytes), "[xs, ys]")
DATASETS = Kind("a dict from names to lists of arguments", _is_names, "{'small': [xs]}")
