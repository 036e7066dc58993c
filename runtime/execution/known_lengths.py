"""Arguments without memory for dry runs and predictions, which know the lengths that decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from runelift.codegen.plan.plan import Interface
from runelift.ir.length_facts import length_facts
from runelift.ir.names import VName
from runelift.runtime.execution.dry_run import no_memory
from runelift.runtime.execution.executable import Executable

Bind: TypeAlias = Callable[[Interface, list[Any], Callable[[Any], Any]], dict[str, Any]]
"""Binds arguments to the parameters of a plan; the function makes buffers of arrays."""


class KnownLengths:
    """The handle of a buffer without memory whose elements are lengths that the host knows."""

    def __init__(self, lengths: np.ndarray[Any, Any]) -> None:
        self._lengths = lengths

    @cached_property
    def facts(self) -> list[int]:
        """The facts about the lengths."""
        found: list[int] = length_facts(self._lengths).tolist()
        return found

    def element(self, index: int) -> int | None:
        """The length of a segment, as the host reads it; None if there is no such segment."""
        return int(self._lengths.flat[index]) if 0 <= index < self._lengths.size else None


def without_memory(executable: Executable, values: Sequence[Any], bind: Bind) -> dict[str, Any]:
    """Arguments by name, with buffers without memory, which know the lengths that decide.

    They also know the numbers that the host reads.
    """
    bound = bind(executable.plan, list(values), lambda array: no_memory(array.nbytes))
    know_lengths(bound, known_lengths(executable, values, executable.given_elements))
    return bound


def has_elements(value: Any) -> bool:
    """True for an array that is there, not only its shape: no two elements share memory."""
    return isinstance(value, np.ndarray) and value.ndim > 0 and (
        value.size == 0 or 0 not in value.strides)


def known_lengths(executable: Executable, values: Sequence[Any],
                  besides: Set[VName] = frozenset()) -> dict[str, KnownLengths]:
    """The lengths that decide, of arguments that have elements, by parameter."""
    known = executable.given_lengths | besides
    return {str(spec.name): KnownLengths(value)
            for spec, value in zip(executable.plan.params, values, strict=True)
            if spec.name in known and has_elements(value)}


def know_lengths(bound: Mapping[str, Any], lengths: Mapping[str, KnownLengths]) -> None:
    """Let buffers without memory know their lengths."""
    for name, known in lengths.items():
        bound[name].handle = known
