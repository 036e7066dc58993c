"""Methods of data classes are compiled at their first call, not when their class is made.

Python 3.11 and 3.12 compile up to six methods of each data class one by one.  A command imports
hundreds of such classes, and calls few of their methods.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from runelift.runtime.host import fast_start

_PARAMETERS = ("name", "args", "body", "globals", "locals", "return_type")
"""The parameters of the standard library's function that compiles a method."""


def begin() -> None:
    """Make methods of data classes lazily in this process, if its Python compiles each alone."""
    made = getattr(dataclasses, "_create_fn", None)
    if (fast_start.enabled() and made is not None
            and made.__code__.co_varnames[:made.__code__.co_argcount
                                          + made.__code__.co_kwonlyargcount] == _PARAMETERS):
        dataclasses._create_fn = _lazy  # type: ignore[attr-defined]


@contextmanager
def while_importing() -> Iterator[None]:
    """Make them lazily in a process that is not ours, as long as it imports our modules."""
    before = vars(dataclasses).get("_create_fn")
    begin()
    try:
        yield
    finally:
        if before is not None:
            dataclasses._create_fn = before  # type: ignore[attr-defined]


def _lazy(name: str, args: Sequence[str], body: Sequence[str], *,
          globals: Mapping[str, Any] | None = None,
          locals: Mapping[str, Any] | None = None,
          return_type: object = dataclasses.MISSING) -> FunctionType:
    """A method with these parameters and lines, whose names mean what ``locals`` says."""
    names = dict(locals or {})

    def compiled() -> Callable[..., Any]:
        """The method, with its own code from now on."""
        text = "\n  ".join((f"def {name}({','.join(args)}):", *body))
        exec(compile(text, "<string>", "exec", dont_inherit=True), names)
        model = names[name]
        method.__defaults__, method.__kwdefaults__ = model.__defaults__, model.__kwdefaults__
        method.__annotations__ = model.__annotations__
        if return_type is not dataclasses.MISSING:
            method.__annotations__["return"] = return_type
        method.__code__ = model.__code__
        return method

    names[_COMPILED] = compiled
    method = FunctionType(_first_call.__code__, names, name)
    return method


_COMPILED = "__compiled__"


def _first_call(*args: Any, **others: Any) -> Any:
    return __compiled__()(*args, **others)  # type: ignore[name-defined]  # noqa: F821
