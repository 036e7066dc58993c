"""Entry points as Python sees them: callable, with names, types and documentation of the source."""

from __future__ import annotations

import difflib
import inspect
import keyword
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from operator import getitem
from typing import Any, Protocol, Self

from runelift.codegen.plan.plan import Plan
from runelift.ir.base.brevity import keeps_frames
from runelift.ir.base.deep import deeply
from runelift.ir.base.errors import ArgumentError, CompilerLimitation, RunFailure, UserError
from runelift.ir.base.source import Source
from runelift.ir.prim import Prim
from runelift.ir.signature import Component, Signature
from runelift.runtime.compilation.compiled import Compiled
from runelift.runtime.displayed import Displayed
from runelift.runtime.execution.arguments import check_arguments, sizes_of, wrong_number
from runelift.runtime.execution.opaques import Opaque, packed, unpacked
from runelift.runtime.programs.derivatives import ON_DEVICE, Differentiable
from runelift.runtime.programs.loaded_program import LoadedProgram

CALL_OPTIONS = {
    "convert": (False, "bool", "convert numbers of other types of the same kind, if they fit"),
    "out": (None, "array | tuple", "take the results: an array of NumPy, or a tuple")}
"""Further keywords of calls, which a parameter or size may take away: default, type, text."""


class Callee(Protocol):
    """The program that an entry point calls."""

    recording: bool
    thresholds: dict[str, int]

    compiled: Compiled
    loaded: LoadedProgram

    def run(self, entry: str, args: Any, *, device_arrays: bool) -> tuple[list[Any], Any]:
        """Run an entry point."""

    def _extended(self, text: str, schedule: Source | None = None) -> Callee:
        """The program with a text behind its own, and with its own schedule or another one."""


class LanguageType(str):
    """A type in source syntax, which signatures show without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class EntryPoint(Differentiable, Displayed):
    """An entry point of a program: call it with NumPy arrays and scalars.

    Arguments may be given by the names of the parameters.  Sizes may be given, too, and are checked
    then.  With ``device_arrays=True``, arrays stay on the device.
    :mod:`~runelift.runtime.programs.call_options` is about ``convert=True`` and ``out=``.
    """

    def __init__(self, program: Callee, name: str) -> None:
        super().__init__()
        self.__name__ = self.__qualname__ = name
        self.program = program
        self.declared = program.compiled.signatures[name]
        self.__doc__ = documentation(name, self.declared)
        self._plain = not any(result.opaque for result in self.declared.results)
        self._parts = sum(param.parts for param in self.declared.params)

    def __call__(self, *args: Any, device_arrays: bool = False, **named: Any) -> Any:
        """Run the entry point; its result, or a tuple of several."""
        __tracebackhide__ = True
        try:
            try:
                parts = self.called(args, device_arrays, named)
            except RecursionError:  # the caller has left no room
                parts = deeply(self.called)(args, device_arrays, named)
        except (UserError, CompilerLimitation) as error:
            if isinstance(error, RunFailure):
                compiled = self.program.compiled
                error.sources = compiled.source, *compiled.imports
            if keeps_frames():
                raise
            raise error.with_traceback(None) from None
        results = parts if self._plain else packed(parts, self.declared)
        return results[0] if len(results) == 1 else tuple(results)

    def called(self, args: tuple[Any, ...], device_arrays: bool,
               named: Mapping[str, Any] | None = None) -> Sequence[Any]:
        """The parts of the results."""
        program, name = self.program, self.__name__
        if named:
            if not CALL_OPTIONS.keys().isdisjoint(named):
                found: Sequence[Any] = import_module(
                    "runelift.runtime.programs.call_options").called(
                        self, args, device_arrays, named)
                return found
            args = self.bound(args, named)
        if not program.recording:
            parts: Sequence[Any] | None = program.loaded.repeat(
                name, args, program.thresholds, to_host=not device_arrays)
            if parts is not None:
                return parts
        given = unpacked(args, self.declared)
        if len(given) != self._parts:
            raise self._wrong_number(args)
        if is_long(program.loaded, name):
            with import_module("runelift.runtime.programs.first_call").shown(name, program.loaded):
                return program.run(name, given, device_arrays=device_arrays)[0]
        return program.run(name, given, device_arrays=device_arrays)[0]

    def __get__(self, instance: object, owner: type | None = None) -> Self:
        """The entry point itself: as an attribute of a class, it gets no ``self``.

        With this method, ``help`` shows it as a function.
        """
        return self

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return getitem, (self.program, self.__name__)

    @property
    def __signature__(self) -> inspect.Signature:
        """The parameters of the source, then its sizes and ``device_arrays`` as keywords."""
        return signature_of(self.declared)

    @property
    def type(self) -> LanguageType:
        """The type in source syntax."""
        return LanguageType(declaration(self.__name__, self.declared))

    def __repr__(self) -> str:
        return f"<{self.type}>"

    # Derivatives

    def in_order(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """All arguments in order; ArgumentError if their number or a keyword is wrong."""
        args = self.bound(args, named) if named else args
        if len(args) != len(self.declared.params):
            raise self._wrong_number(args)
        return args

    def parameter_names(self) -> list[str]:
        """The names of the parameters for Python."""
        return python_names(self.declared)

    def plan(self) -> Plan:
        """The host plan, with the types of arguments and results."""
        return self.program.loaded.plan(self.__name__)

    def with_text(self, hidden: Callable[[str], tuple[str, str]]) -> EntryPoint:
        """An entry point that is added to the program: its name and text, of the text so far."""
        name, text = hidden(self.program.compiled.source.text)
        return EntryPoint(self.program._extended(text), name)

    def with_schedule(self, text: str) -> EntryPoint:
        """The entry point with another schedule."""
        return EntryPoint(self.program._extended("", Source("schedule", text)), self.__name__)

    def has_settings_of(self, other: EntryPoint) -> None:
        """Record calls and bound memory as another entry point's program does."""
        self.program.recording = other.program.recording
        if self.program.loaded.memory != other.program.loaded.memory:
            self.program.loaded.memory = other.program.loaded.memory

    # Keywords

    def bound(self, args: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """All arguments in order; ArgumentError if a keyword is wrong or a size differs."""
        names = python_names(self.declared)
        found: dict[str, Any] = dict(zip(names, args, strict=False))
        sizes: dict[str, Any] = {}
        for name, value in named.items():
            if name in found:
                raise ArgumentError(f"Argument '{name}' is given twice.", name)
            if name in names:
                found[name] = value
            elif name in self.declared.sizes:
                sizes[name] = value
            else:
                known = [*names, *self.declared.sizes, ON_DEVICE, *option_names(self.declared)]
                near = difflib.get_close_matches(name, known, n=1) or known
                raise ArgumentError(
                    f"Entry point '{self.__name__}' has no parameter '{name}'.", name,
                    f"did you mean {near[0]}?" if len(near) == 1 else f"it has {', '.join(near)}")
        if len(args) > len(names):
            return tuple(args)  # the call says what is wrong
        if missing := [name for name in names if name not in found]:
            raise ArgumentError(f"Entry point '{self.__name__}' also needs {', '.join(missing)}.",
                                missing[0], f"its type is {self.type}")
        bound = tuple(found[name] for name in names)
        if sizes:
            self._check_sizes(bound, sizes)
        return bound

    def _wrong_number(self, args: Sequence[Any]) -> ArgumentError:
        params = self.declared.params
        for name, param, arg in zip(python_names(self.declared), params, args, strict=False):
            if len(args) == len(params) and param.opaque and not isinstance(arg, Opaque):
                return ArgumentError(f"Argument '{name}' should be {param.written}, which programs "
                                     f"give, not {type(arg).__name__}.", name)
        return wrong_number(self.__name__, [f"{param.name or '_'}: {param.written}"
                                            for param in params], len(args))

    def _check_sizes(self, args: Sequence[Any], sizes: Mapping[str, Any]) -> None:
        plan = self.program.loaded.interface(self.__name__)
        given = unpacked(args, self.declared)
        if len(given) != self._parts:
            raise self._wrong_number(args)
        known = sizes_of(plan, check_arguments(plan, given))
        true = {str(each.base): size for each, size in known.items()}
        for name, size in sizes.items():
            if true.get(name, size) != size:
                raise ArgumentError(f"Size '{name}' of '{self.__name__}' is {true[name]} by the "
                                    f"arguments, not {size}.", name)


def is_long(loaded: LoadedProgram, entry: str) -> bool:
    """True if a call is the first on a device, and a terminal shows how far it is."""
    if loaded.info is None or loaded.made(entry) is not None:
        return False
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


def python_names(declared: Signature) -> list[str]:
    """The names of the parameters for Python, which differ from each other."""
    found: list[str] = []
    for number, param in enumerate(declared.params, start=1):
        name = param.name.replace("'", "_")
        if keyword.iskeyword(name) or name == "self":
            name += "_"
        if not name.isidentifier() or name in {*found, ON_DEVICE}:
            name = f"arg{number}"
        found.append(name)
    return found


def size_names(declared: Signature) -> list[str]:
    """The sizes that are keywords: Python allows their names, and no parameter is named so."""
    taken = {*python_names(declared), ON_DEVICE}
    return [name for name in dict.fromkeys(declared.sizes)
            if name.isidentifier() and not keyword.iskeyword(name) and name not in taken]


def option_names(declared: Signature) -> list[str]:
    """The further keywords of calls that no parameter or size takes away."""
    taken = {*python_names(declared), *declared.sizes}
    return [name for name in CALL_OPTIONS if name not in taken]


def signature_of(declared: Signature) -> inspect.Signature:
    """A signature for :mod:`inspect`, with types of the source."""
    params = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                                annotation=LanguageType(param.written))
              for name, param in zip(python_names(declared), declared.params, strict=True)]
    params += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None,
                                 annotation=LanguageType("i64")) for name in size_names(declared)]
    params.append(inspect.Parameter(ON_DEVICE, inspect.Parameter.KEYWORD_ONLY, default=False,
                                    annotation=bool))
    for name in option_names(declared):
        default, type_, _ = CALL_OPTIONS[name]
        params.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default,
                                        annotation=LanguageType(type_)))
    return inspect.Signature(params, return_annotation=LanguageType(results_text(declared)))


def results_text(declared: Signature) -> str:
    """The type of the results in source syntax."""
    texts = [each.written for each in declared.results]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def declaration(name: str, declared: Signature) -> str:
    """The declaration in source syntax, without its body."""
    parts = [name, *(f"[{size}]" for size in declared.sizes)]
    parts += [f"({param.name or '_'}: {param.written})" for param in declared.params]
    return f"{' '.join(parts)}: {results_text(declared)}"


def documentation(name: str, declared: Signature, *, keywords: bool = True) -> str:
    """The text of ``help``: the comment of the source, then arguments and results for Python.

    The function has the ``keywords`` of :class:`EntryPoint`, or none.
    """
    rows = [(python, _in_python(param))
            for python, param in zip(python_names(declared), declared.params, strict=True)]
    if keywords:
        if sizes := size_names(declared):
            rows.append((", ".join(sizes), "sizes, checked if they are given"))
        rows.append((ON_DEVICE, "leave arrays among the results on the device"))
        rows += [(name, CALL_OPTIONS[name][2]) for name in option_names(declared)]
    width = max((len(left) for left, _ in rows), default=0)
    lines = [declared.doc, ""] if declared.doc else []
    lines += [f"entry {declaration(name, declared)}", "",
              *(f"  {left:<{width}}  {right}" for left, right in rows), "",
              f"Returns {', '.join(_in_python(each) for each in declared.results) or 'nothing'}."]
    return "\n".join(lines)


def _in_python(component: Component) -> str:
    if component.opaque:
        return f"Opaque {component.written}"
    rank = component.type.count("[")
    prim = Prim(component.type.lstrip("[]"))
    return f"array of {prim.dtype}, {rank}-d" if rank else str(prim.dtype)
