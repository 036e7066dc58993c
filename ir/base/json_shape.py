"""JSON that is checked against types before anything is made of it.

Dataclasses and named tuples give the types, so each field has one declaration.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache, partial
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

LARGEST = 1 << 63
"""Whole numbers in files are below it: no size and no count is larger."""
MOST_QUOTED = 40
"""The most characters of a name that a message quotes."""
T = TypeVar("T")
_Read = Callable[[Any], Any]


class MisshapenJson(ValueError):
    """JSON that is damaged, or that lacks the required fields or types.

    ``path`` are the names of the fields that lead to the place.
    """

    def __init__(self, problem: str, path: tuple[str, ...] = ()) -> None:
        super().__init__(problem, path)
        self.problem, self.path = problem, path

    def __str__(self) -> str:
        place = ".".join(each[:MOST_QUOTED] for each in self.path)
        return f"'{place}' {self.problem}" if place else self.problem


def parse(text: str) -> Any:
    """The value of JSON; MisshapenJson if it is none, or nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise MisshapenJson("not JSON: it is nested too deeply") from None
    except ValueError as error:
        raise MisshapenJson(f"not JSON: {error}") from None


def read(kind: type[T], raw: Any) -> T:
    """The object of a dataclass or named tuple from its JSON; MisshapenJson if it is of another.

    Fields with a default may be missing.
    """
    reader: Callable[[Any], Any] = _reader(cast("Any", kind))
    return cast("T", reader(raw))


def read_mapping(raw: Any, kind: Any, what: str) -> dict[str, Any]:
    """A JSON object whose values have the type ``kind``; ``what`` names it in messages."""
    try:
        return cast("dict[str, Any]", _reader(types.GenericAlias(dict, (str, kind)))(raw))
    except MisshapenJson as error:
        raise MisshapenJson(error.problem, (what, *error.path)) from None


@cache
def _reader(kind: Any) -> _Read:
    """The function that checks values of a type and makes them; long, with a case for each."""
    arguments = get_args(kind)
    origin = get_origin(kind) or kind
    if origin is types.UnionType:
        (inner,) = (_reader(each) for each in arguments if each is not types.NoneType)
        return lambda raw: None if raw is None else inner(raw)
    if origin is tuple:
        item = _reader(arguments[0])
        return lambda raw: tuple(map(item, _of(raw, list, "a list")))
    if origin in (dict, Mapping):
        entry = _reader(arguments[1])
        return partial(_entries, entry)
    if is_dataclass(origin) or hasattr(origin, "_fields"):
        return _object(origin)
    return {str: _text, bool: _truth, int: _whole, float: _number, Any: lambda raw: raw}[origin]


def _object(kind: Any) -> _Read:
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        required = {each.name for each in fields(kind)
                    if each.default is MISSING and each.default_factory is MISSING}
    else:
        required = set(kind._fields) - set(kind._field_defaults)
    readers = {name: _reader(hint) for name, hint in hints.items()}

    def read_object(raw: Any) -> Any:
        found = {}
        for name, value in _of(raw, dict, "an object").items():
            if name not in readers:
                raise MisshapenJson(f"has no field '{name[:MOST_QUOTED]}'")
            try:
                found[name] = readers[name](value)
            except MisshapenJson as error:
                raise MisshapenJson(error.problem, (name, *error.path)) from None
        if missing := sorted(required - set(found)):
            raise MisshapenJson(f"lacks the field '{missing[0]}'")
        return kind(**found)

    return read_object


def _entries(entry: _Read, raw: Any) -> dict[str, Any]:
    found = {}
    for name, value in _of(raw, dict, "an object").items():
        try:
            found[name] = entry(value)
        except MisshapenJson as error:
            raise MisshapenJson(error.problem, (name, *error.path)) from None
    return found


def _of(raw: Any, kind: type[T], what: str) -> T:
    if not isinstance(raw, kind):
        raise MisshapenJson(f"should be {what}")
    return raw


def _text(raw: Any) -> str:
    return _of(raw, str, "a text")


def _truth(raw: Any) -> bool:
    return _of(raw, bool, "true or false")


def _whole(raw: Any) -> int:
    if type(raw) is not int or abs(raw) >= LARGEST:
        raise MisshapenJson("should be a whole number below 2^63")
    return raw


def _number(raw: Any) -> float:
    if type(raw) not in (int, float) or raw != raw or (
            abs(raw) >= LARGEST and raw not in (float("inf"), float("-inf"))):
        raise MisshapenJson("should be a number")
    return cast("float", raw)
