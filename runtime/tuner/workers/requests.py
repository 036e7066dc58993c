"""Requests of the tuner to a worker process: calls of the methods of its session.

:class:`~runelift.runtime.tuner.workers.remote.Remote` sends them, and
:meth:`~runelift.runtime.tuner.workers.worker.Session.answer` answers them.  A request is a tuple,
as processes that only build kernels must not import this module before they have to.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

if TYPE_CHECKING:
    from runelift.runtime.compilation.compiled import Compiled
    from runelift.runtime.tuner.measure.measurable import Thresholds
    from runelift.runtime.tuner.workers.worker import Session

Answer = TypeVar("Answer")
Request: TypeAlias = tuple[Any, ...]
"""The name of a method, and its arguments."""
Call: TypeAlias = "Callable[[Session], Answer]"
"""A function that only calls a method of the session that it is given, and returns the result."""


@dataclass(frozen=True, slots=True)
class OpenProgram:
    """A program, or the snapshot of the stored one, and what a worker has to know to run it.

    With ``outside``, other processes build its kernels.  The programs ``slow``, by their names in
    the cache, take too long to build.  If ``alone``, none is built beside another.  ``memory``
    bounds the device memory of a run.
    """

    compiled: Compiled | str
    policy: str
    contract: bool
    thresholds: Thresholds
    outside: bool
    slow: Set[str] = frozenset()
    alone: bool = False
    memory: int | None = None


class _CallNotes:
    """Stands for a session: notes a call instead of making it."""

    def __getattr__(self, method: str) -> Callable[..., Request]:
        return lambda *args: (method, *args)


def request_of(call: Call[Any]) -> Request:
    """The request that has a session make a call.

    >>> request_of(lambda session: session.drop_arguments([1, 2]))
    ('drop_arguments', [1, 2])
    """
    return cast(Request, call(cast("Session", _CallNotes())))
