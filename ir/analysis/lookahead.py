"""Later uses: the names that the statements after one, and the result, mention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from runelift.ir.names import VName
from runelift.ir.syntax import Body, Stm
from runelift.ir.traverse import free_vars


class After(Set[VName]):
    """The names used after a place in a body, or ``outside`` of it; a set that costs nothing."""

    __slots__ = ("_last", "_outside", "_place")

    def __init__(self, last: Mapping[VName, int], place: int, outside: Set[VName]) -> None:
        self._last, self._place, self._outside = last, place, outside

    def __contains__(self, name: object) -> bool:
        return (isinstance(name, VName) and self._last.get(name, -1) > self._place
                ) or name in self._outside

    def __iter__(self) -> Iterator[VName]:
        own = [name for name, last in self._last.items() if last > self._place]
        return iter({*own, *self._outside})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @classmethod
    def _from_iterable(cls, it: Iterable[VName]) -> frozenset[VName]:  # type: ignore[override]
        return frozenset(it)


def with_uses_after(body: Body, outside: Set[VName] = frozenset()) -> list[
        tuple[Stm, Set[VName]]]:
    """The statements of ``body``, each with the names that are used after it.

    ``outside`` are the names that are used after the whole body.
    """
    last: dict[VName, int] = {}
    for place, stm in enumerate(body.stms):
        last.update(dict.fromkeys(free_vars(stm), place))
    last.update((a, len(body.stms)) for a in body.result if isinstance(a, VName))
    return [(stm, After(last, place, outside)) for place, stm in enumerate(body.stms)]
