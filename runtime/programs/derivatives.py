"""Derivatives of entry points: hidden entry points, which are added to the text of the program.

What an entry point computes stands in :class:`Wanted`.  The operators of the language compute it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from operator import index
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from runelift.codegen.plan.plan import Plan
from runelift.ir.base.errors import ArgumentError, BriefErrors
from runelift.ir.signature import Component, Signature
from runelift.runtime.execution.opaques import Opaque

ON_DEVICE = "device_arrays"
"""The keyword that leaves arrays among the results on the device."""
_FLOAT = re.compile(r"\bf(16|32|64)\b")
Argnums: TypeAlias = int | Sequence[int] | None
"""The numbers of arguments: one, several, or all of floats."""


class Wanted(NamedTuple):
    """Results of a hidden entry point for the arguments of another one.

    ``vjp`` gives the results and the adjoints of ``args``, for seeds of ``results``; ``adjoints``
    leaves out the results.  ``jvp`` gives the results and their tangents.  ``hvp`` gives the
    product of the second derivatives.  A seed of ``unit`` is 1.
    """

    kind: Literal["vjp", "adjoints", "jvp", "hvp"]
    args: tuple[int, ...]
    results: tuple[int, ...] = ()
    unit: bool = False


def hidden_text(name: str, declared: Signature, names: Sequence[str], wanted: Wanted, hidden: str
                ) -> str:
    """The definitions of the entry point ``hidden``, whose parameters are called ``names``.

    Names of the definition begin with ``hidden``, which the program does not have.
    """
    params = [f"{hidden}_x{number}" for number in range(len(declared.params))]
    results = [f"{hidden}_r{number}" for number in range(len(declared.results))]
    seeds = [f"{hidden}_s{number}" for number in range(len(names) - len(params))]
    found = [f"{hidden}_d{number}" for number in wanted.args]
    call = " ".join([name, *(f"(copy {param})" if "*" in each.written else param
                             for param, each in zip(params, declared.params, strict=True))])
    at = _tuple([params[number] for number in wanted.args])
    seed = "1" if wanted.unit else _tuple(seeds)
    whole = len(wanted.results) == len(results)
    counting = call if whole else (
        f"(let {_tuple(results)} = {call} in {_tuple([results[n] for n in wanted.results])})")
    if wanted.kind == "jvp":
        found = [f"{hidden}_d{number}" for number in range(len(results))]
        body = (f"let ({_tuple(results)}, {_tuple(found)}) = jvp2 (\\{at} -> {call}) {at} {seed} "
                f"in {_tuple([*results, *found])}")
    elif wanted.kind == "hvp":
        body = f"jvp (\\{at} -> vjp (\\{at} -> {counting}) {at} 1) {at} {_tuple(seeds)}"
    elif wanted.kind == "adjoints":
        body = f"vjp (\\{at} -> {counting}) {at} {seed}"
    elif whole:
        body = (f"let ({_tuple(results)}, {_tuple(found)}) = vjp2 (\\{at} -> {call}) {at} {seed} "
                f"in {_tuple([*results, *found])}")
    else:
        body = (f"let {_tuple(results)} = {call} let {_tuple(found)} = vjp (\\{at} -> {counting}) "
                f"{at} {seed} in {_tuple([*results, *found])}")
    return (f"\ndef {hidden}_of {' '.join([*params, *seeds])} = {body}\n"
            f"entry {hidden} {' '.join(names)} = {hidden}_of {' '.join(names)}\n")


def _tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)})"


def is_float(component: Component) -> bool:
    """Test whether a parameter or result has a float inside."""
    return bool(_FLOAT.search(component.type))


def floats(components: Sequence[Component]) -> tuple[int, ...]:
    """The numbers of the parameters or results that have a float inside."""
    return tuple(number for number, each in enumerate(components) if is_float(each))


class Differentiable:
    """An entry point as a function that has derivatives."""

    __name__: str
    declared: Signature

    def __init__(self) -> None:
        self._derived = dict[Wanted, Self]()

    def __call__(self, *args: Any, device_arrays: bool = False, **named: Any) -> Any:
        """Run the entry point."""
        raise NotImplementedError

    def in_order(self, args: tuple[Any, ...], named: Any) -> tuple[Any, ...]:
        """All arguments in order; ArgumentError if their number or a keyword is wrong."""
        raise NotImplementedError

    def parameter_names(self) -> list[str]:
        """The names of the parameters for Python."""
        raise NotImplementedError

    def plan(self) -> Plan:
        """The host plan, with the types of arguments and results."""
        raise NotImplementedError

    def with_text(self, hidden: Callable[[str], tuple[str, str]]) -> Self:
        """An entry point that is added to the program: its name and text, of the text so far."""
        raise NotImplementedError

    def has_settings_of(self, other: Self) -> None:
        """Record calls and bound memory as another entry point's program does."""
        raise NotImplementedError

    def derived(self, wanted: Wanted) -> Self:
        """The hidden entry point that computes what is wanted."""
        if wanted not in self._derived:
            self._derived[wanted] = self.with_text(lambda text: self._hidden(text, wanted))
        found = self._derived[wanted]
        found.has_settings_of(self)
        return found

    def _hidden(self, text: str, wanted: Wanted) -> tuple[str, str]:
        """The name and the definition of a hidden entry point, whose names are new."""
        hidden = f"{self.__name__}_{wanted.kind}"
        while hidden in text:
            hidden += "_"
        names = self.parameter_names()
        stem = {"jvp": "tangent", "hvp": "v"}.get(wanted.kind, "seed")
        many = wanted.results if stem == "seed" else wanted.args
        for number in () if wanted.unit and stem == "seed" else many:
            new = stem if len(many) == 1 else f"{stem}_{number}"
            while new in names:
                new += "_"
            names.append(new)
        return hidden, hidden_text(self.__name__, self.declared, names, wanted, hidden)

    def vjp(self, *args: Any, seed: Any = None, argnums: Argnums = None,
            device_arrays: bool = False, **named: Any) -> tuple[Any, Any]:
        """The result, and the adjoints of arguments for the ``seed`` of the result.

        ``argnums`` says of which arguments: an integer gives one adjoint, all else a tuple.
        Without ``argnums`` all arguments with floats have adjoints.  If one result is a float, it
        needs no seed.  Of several results each has a seed; None is zero.
        """
        __tracebackhide__ = True
        with BriefErrors():
            args = self.in_order(args, named)
            seeds = _given(seed, self.declared.results, "seed")
            which = tuple(number for number, each in enumerate(seeds) if each is not None)
            wanted = Wanted("vjp", self._numbers(argnums), which or self._only(), not which)
            found = several(self.derived(wanted)(
                *args, *(seeds[number] for number in which), device_arrays=device_arrays))
        count = len(self.declared.results)
        return _one_or_all(found[:count]), _asked(found[count:], argnums)

    def jvp(self, *args: Any, tangents: Any, device_arrays: bool = False, **named: Any
            ) -> tuple[Any, Any]:
        """The result and its tangent, for ``tangents`` of the arguments; None is zero."""
        __tracebackhide__ = True
        with BriefErrors():
            args = self.in_order(args, named)
            given = _given(tangents, self.declared.params, "tangents")
            which = tuple(number for number, each in enumerate(given) if each is not None)
            if not which:
                raise ArgumentError("No argument has a tangent.", "tangents",
                                    "give one for each argument; None is zero")
            found = several(self.derived(Wanted("jvp", which))(
                *args, *(given[number] for number in which), device_arrays=device_arrays))
        count = len(self.declared.results)
        return _one_or_all(found[:count]), _one_or_all(found[count:])

    def grad(self, argnums: Argnums = 0) -> Callable[..., Any]:
        """A function that gives the gradient of the only float result by ``argnums``."""
        __tracebackhide__ = True
        with BriefErrors():
            wanted = Wanted("adjoints", self._numbers(argnums), self._only(), unit=True)

        def gradient(*args: Any, **named: Any) -> Any:
            __tracebackhide__ = True
            with BriefErrors():
                on_device = {ON_DEVICE: named.pop(ON_DEVICE, False)}
                return _asked(several(self.derived(wanted)(
                    *self.in_order(args, named), **on_device)), argnums)
        gradient.__name__ = f"{self.__name__}_grad"
        return gradient

    def value_and_grad(self, argnums: Argnums = 0) -> Callable[..., tuple[Any, Any]]:
        """A function that gives the result, and the gradient by ``argnums``."""
        __tracebackhide__ = True
        with BriefErrors():
            self._only()

        def both(*args: Any, **named: Any) -> tuple[Any, Any]:
            __tracebackhide__ = True
            return self.vjp(*args, argnums=argnums, **named)
        both.__name__ = f"{self.__name__}_value_and_grad"
        return both

    def hvp(self, *args: Any, argnums: Argnums = 0, device_arrays: bool = False) -> Any:
        """The second derivatives of the only float result, times the last argument ``v``.

        ``v`` has the type of the argument ``argnums``; of several arguments it is a tuple.
        """
        __tracebackhide__ = True
        with BriefErrors():
            numbers = self._numbers(argnums)
            args, vector = self.in_order(args[:-1], {}), args[-1:]
            parts = vector if argnums is not None and not isinstance(argnums, Sequence) else (
                _given(vector[0], [self.declared.params[each] for each in numbers], "v"))
            found = self.derived(Wanted("hvp", numbers, self._only()))(
                *args, *parts, device_arrays=device_arrays)
        return _asked(several(found), argnums)

    def torch(self) -> Callable[..., Any]:
        """A function of tensors of PyTorch, through which ``backward`` works."""
        with BriefErrors():
            made: Callable[..., Any] = import_module(
                "runelift.runtime.programs.torch_functions").torch_function(self)
        return made

    def jax(self) -> Callable[..., Any]:
        """A function of arrays of JAX, through which ``jax.grad`` and ``jax.jit`` work."""
        with BriefErrors():
            made: Callable[..., Any] = import_module(
                "runelift.runtime.programs.jax_functions").jax_function(self)
        return made

    def _numbers(self, argnums: Argnums) -> tuple[int, ...]:
        count = len(self.declared.params)
        if argnums is None:
            found = floats(self.declared.params)
        else:
            asked = argnums if isinstance(argnums, Sequence) else (argnums,)
            found = tuple(map(_index, asked))
        if not found:
            raise ArgumentError(f"No argument of '{self.__name__}' is a float.", "argnums",
                                "name the arguments, such as `argnums=0`")
        if len({*found}) < len(found) or not all(0 <= each < count for each in found):
            raise ArgumentError(f"'argnums' should be different numbers from 0 to {count - 1}, not "
                                f"{argnums!r:.40}.", "argnums", "such as `argnums=0`; the "
                                "gradient at x is `grad(0)(x)`")
        return found

    def _only(self) -> tuple[int, ...]:
        """The number of the only float among the results; ArgumentError if there is none."""
        found = floats(self.declared.results)
        if len(found) == 1 and self.declared.results[found[0]].type in ("f16", "f32", "f64"):
            return found
        types = ", ".join(each.written for each in self.declared.results)
        raise ArgumentError(f"The results of '{self.__name__}' are not one float, but {types}.",
                            "seed", "call `.vjp(..., seed=...)`: a seed has the type of its result")


def _index(number: Any) -> int:
    """The number of an argument; -1 for what is none."""
    try:
        return index(number)
    except TypeError:
        return -1


def _given(values: Any, components: Sequence[Component], name: str) -> list[Any]:
    """Seeds or tangents for each of several values; a single one may come without a tuple."""
    is_many = isinstance(values, tuple | list) and not isinstance(values, Opaque)
    if len(components) == 1 and not (is_many and isinstance(values, tuple) and len(values) == 1):
        return [values]
    if values is None:
        return [None] * len(components)
    if not is_many or len(values) != len(components):
        raise ArgumentError(f"'{name}' should be a tuple of {len(components)}.", name,
                            "None stands for zero")
    return list(values)


def several(results: Any) -> tuple[Any, ...]:
    """The results of a call as a tuple, also if there is one."""
    return results if isinstance(results, tuple) and not isinstance(results, Opaque) else (results,)


def _one_or_all(results: tuple[Any, ...]) -> Any:
    return results[0] if len(results) == 1 else results


def _asked(adjoints: tuple[Any, ...], argnums: Argnums) -> Any:
    """One adjoint if one number was asked for, else a tuple."""
    return adjoints if argnums is None or isinstance(argnums, Sequence) else adjoints[0]
