"""Functions of Python whose code is a program: ``@runelift.fn``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar, overload

from runelift.ir.base.errors import BriefErrors, UserError
from runelift.ir.base.source import Source
from runelift.runtime.programs.compile import compile, entries_are_names
from runelift.runtime.programs.entry_point import EntryPoint, python_names
from runelift.runtime.programs.takes import FUNCTION_OR_TEXT, TEXT, check, or_none, takes

P = ParamSpec("P")
R = TypeVar("R")

if TYPE_CHECKING:
    class Function(EntryPoint, Generic[P, R]):
        """An entry point that has the types of a function of Python, for type checkers."""

        @overload  # type: ignore[override]
        def __call__(self, *args: P.args, **named: P.kwargs) -> R: ...
        @overload
        def __call__(self, *args: Any, device_arrays: Literal[True], **named: Any) -> Any: ...
        @overload
        def __call__(self, *args: Any, convert: bool, **named: Any) -> R: ...
        @overload
        def __call__(self, *args: Any, out: Any, **named: Any) -> R: ...
        def __call__(self, *args: Any, **named: Any) -> Any:
            """Run the entry point."""


@overload
def fn(source: Callable[P, R], **options: Any) -> Function[P, R]: ...
@overload
def fn(source: str, **options: Any) -> EntryPoint: ...
@overload
def fn(source: None = None, **options: Any) -> Callable[[Callable[P, R]], Function[P, R]]: ...


@takes(name=or_none(TEXT))
def fn(source: Callable[..., Any] | str | None = None, *, name: str | None = None,
       **options: Any) -> Any:
    """The entry point of a text, or of a function's doc string, as a function of NumPy arrays.

    With several entry points, it is the one called ``name``, or as the function that is decorated.
    The ``options`` are the options of ``runelift.compile``.  UserError if a function and the entry
    point have different parameters.  The body of a function never runs; with
    ``raise NotImplementedError`` in it, type checkers know the type of the result.

    >>> @fn(device="interpreter")
    ... def double(xs):
    ...     "entry double [n] (xs: [n]i32): [n]i32 = map (* 2) xs"
    >>> import numpy as np
    >>> double(np.array([1, 2], np.int32)).tolist()
    [2, 4]
    """
    __tracebackhide__ = True
    check("source", source, or_none(FUNCTION_OR_TEXT))
    if source is None:
        return lambda function: fn(function, name=name, **options)
    if isinstance(source, str):
        with entries_are_names():
            program = compile(source, **options)
        with BriefErrors():
            return _entry(program, name, None)
    with BriefErrors():
        text = inspect.getdoc(source)
        if not text:
            raise UserError(f"The doc string of '{source.__name__}' should be the program.")
    with entries_are_names():
        program = compile(Source(f"<{source.__name__}>", text), **options)
    with BriefErrors():
        entry = _entry(program, name, source.__name__)
        _check_parameters(source, entry)
    entry.__module__ = source.__module__
    return entry


def _entry(program: Any, name: str | None, default: str | None) -> EntryPoint:
    """The entry point called ``name``, else the only one, else the one called ``default``."""
    entries: tuple[str, ...] = program.entries
    if name is None and len(entries) == 1:
        name = entries[0]
    if name is None and default in entries:
        name = default
    if name is None:
        raise UserError("The text should have one entry point" + (
            f", or one called '{default}'" if default else " (or choose: name=...)")
            + f"; it has {', '.join(entries) or 'none: begin a function with the word entry'}.")
    found: EntryPoint = program[name]
    return found


def _check_parameters(function: Callable[..., Any], entry: EntryPoint) -> None:
    given = [each.name for each in inspect.signature(function).parameters.values()]
    wanted = python_names(entry.declared)
    if given != wanted:
        raise UserError(f"'{function.__name__}' has the parameters ({', '.join(given)}), but its "
                        f"program has ({', '.join(wanted)}): {entry.type}.")
