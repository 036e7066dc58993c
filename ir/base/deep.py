"""Room for recursion: programs are trees, and the compiler follows them as deep as they are.

Most programs fit the stack of the thread that compiles.  One that does not is compiled again in a
thread with a large stack, of which the system provides only what is used.
"""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from runelift.ir.base.errors import CompilerLimitation

PYTHON_FRAMES = 8000
"""The greatest depth of Python's calls in the thread of the caller."""
DEEP_FRAMES = 400_000
"""The greatest depth in a thread with a large stack."""
DEEP_THREAD = "runelift-deep"
"""The name of such a thread."""
DEEP_STACK = 1 << 30
"""The bytes of that stack: enough for all frames, also for frames that C code calls."""

_one_at_a_time = threading.Lock()
"""Python has one stack size for new threads."""
_limits = threading.Lock()
"""Python has one limit of recursion for all threads."""
_asked: list[int] = []
"""The depths that are asked for now; before the first of them comes the limit without them."""

Params = ParamSpec("Params")
Result = TypeVar("Result")


def deeply(work: Callable[Params, Result]) -> Callable[Params, Result]:
    """``work`` with room for deep recursion; CompilerLimitation if that is not enough.

    It may run twice, so it must not change what it is given.
    """
    @wraps(work)
    def within(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        if is_deep():
            return work(*args, **kwargs)
        try:
            with _frames(PYTHON_FRAMES):
                return work(*args, **kwargs)
        except RecursionError:
            pass
        return _in_thread(lambda: work(*args, **kwargs))
    return within


@contextmanager
def _frames(count: int) -> Iterator[None]:
    """Room for at least ``count`` frames, as long as any caller asks for that many."""
    with _limits:
        if not _asked:
            _asked.append(sys.getrecursionlimit())
        _asked.append(count)
        sys.setrecursionlimit(max(_asked))
    try:
        yield
    finally:
        with _limits:
            _asked.remove(count)
            sys.setrecursionlimit(max(_asked))
            if len(_asked) == 1:
                _asked.clear()


def room() -> AbstractContextManager[None]:
    """Room for compiling in the thread of a caller that may have left hardly any frames."""
    return _frames(PYTHON_FRAMES)


def is_deep() -> bool:
    """True in a thread with a large stack, which has no more room for calls than it has."""
    return threading.current_thread().name == DEEP_THREAD


def deep_calls() -> AbstractContextManager[None]:
    """Room for Python functions that call each other as often as programs may.

    Python's stack is on the heap: no C code stands between these calls.
    """
    return _frames(DEEP_FRAMES)


def _in_thread(work: Callable[[], Result]) -> Result:
    """The result of ``work`` in a thread with a large stack."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised again by the caller's thread
            errors.append(error)

    with _one_at_a_time:
        before = threading.stack_size(DEEP_STACK)
        try:
            around = contextvars.copy_context()
            thread = threading.Thread(target=around.run, args=(run,), daemon=True, name=DEEP_THREAD)
            with _frames(DEEP_FRAMES):
                thread.start()
                thread.join()
        except RuntimeError:
            raise _too_deep() from None
        finally:
            threading.stack_size(before)
    if errors and isinstance(errors[0], RecursionError | MemoryError):
        raise _too_deep()
    if errors:
        raise errors[0]
    return results[0]


def _too_deep() -> CompilerLimitation:
    return CompilerLimitation("an expression or type is nested too deeply; define functions for "
                              "parts of it.")
