"""Failures of running programs: a text for each kind, with ``{}`` for values.

They are the messages of :class:`~runelift.ir.syntax.Assert` and of the checks that code generation
makes.  So the interpreter, the host and the kernels use the same words.
"""

from __future__ import annotations

from collections.abc import Sequence

from runelift.ir.base.errors import Code, ProgramFailure, RunFailure, RunTooLarge


def _failure(code: Code, text: str) -> str:
    return f"error[{code}]: {text}"


MOST_CALLS = 10_000
"""The most calls of a function in each other, if it calls itself other than at its end."""

STRIDE = _failure("index-out-of-bounds", "A slice with stride {} is out of bounds.")
DIVISION = _failure("division-by-zero", "Division by zero.")
EXPONENT = _failure("division-by-zero", "Negative exponent: {}.")
SIZE = _failure("negative-size", "The size {0} is negative.  Range 0..1..<{0} is invalid.")
"""The second sentence is that of Futhark, whose arrays are maps over such ranges."""
UNKNOWN_SIZE = _failure("negative-size", "The size of an array is negative.")
RESHAPE = _failure("unequal-sizes", "Cannot reshape an array of {} elements to {}.")
WINDOWS = _failure("invalid-windows", "Windows of {} elements, each {} behind the last: both "
                   "numbers must be positive.")
TOO_SHORT = _failure("invalid-windows", "Windows of {} elements, each {} behind the last, do not "
                     "fit an array of {}.")
SIZES = _failure("unequal-sizes", "Sizes {} and {} should be equal.")
ARGUMENT = _failure("unequal-sizes", "An argument has an invalid size: {}, where its type says {}.")
DEPTH = _failure("recursion-depth", "A function has called itself {} times without a result.")
BOUND = _failure("bound-too-small", "This loop goes on after {} iterations, its #[bound].")
TOO_LARGE = _failure("too-large", "")
"""The beginning of a failure that is a limitation of Runelift, not a mistake of the program."""
SEGMENTS = TOO_LARGE + ("Not supported: a map over {} rows of different lengths; at most 2^31 - 1 "
                        "are.")
ELEMENTS = TOO_LARGE + ("Not supported: rows of different lengths that have 2^63 elements or more "
                        "in all.")
WINNERS = TOO_LARGE + ("Not supported: the derivative of a scatter of {} values; at most 2^31 - 1 "
                       "are.")
CALLS = TOO_LARGE + ("Not supported: {} calls of '{}' side by side, inside of {} others: they need "
                     "more device memory than this run has.")
SHAPES = _failure("unequal-sizes", "Value of shape [{}] cannot match shape [{}].")


def kind_of(message: str) -> type[RunFailure]:
    """The class of a failure: a mistake of the program, or a limitation of Runelift."""
    return RunTooLarge if message.startswith(TOO_LARGE) else ProgramFailure


def nonzero(divisor: object) -> str:
    """The attribute of a division by ``divisor``, which is known not to be 0 there."""
    return f"nonzero({divisor})"


def access(parts: Sequence[int], checked: bool = True) -> str:
    """An access out of bounds.  A dimension is written with as many values as ``parts`` says.

    The values are an index, or the start and stop of a slice, perhaps with its step.  The sizes of
    the array follow.  If not ``checked``, a device would go on with any value.
    """
    dims = ", ".join(":".join(["{}"] * count) for count in parts)
    unsafe = "" if checked else "  It is #[unsafe]: a device does not check this access."
    return _failure("index-out-of-bounds", f"Index [{dims}] out of bounds for array of shape "
                    f"{'[{}]' * len(parts)}.{unsafe}")


def assertion(condition: str) -> str:
    """The failure of an assertion whose condition reads so in the source."""
    literal = condition.replace("{", "{{").replace("}", "}}")
    return _failure("assertion-failed", f"Assertion is false: ({literal})")


def hole(type_: str) -> str:
    """The failure of a program that comes to a hole, in place of a value of that type."""
    literal = type_.replace("{", "{{").replace("}", "}}")
    return _failure("assertion-failed", f"Reached hole of type: {literal}")


def invalid_range(kind: str, ends: int) -> str:
    """The failure of a range that does not lead to its end, of two or three ``ends``."""
    return _failure("negative-size", f"Range {'{}..' * (ends - 2)}{{}}{kind}{{}} is invalid.")
