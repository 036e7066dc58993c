"""Dictionaries that grow by a binding without a copy of what they hold already.

A layered dictionary is a stack of dictionaries, newest first, of which only the newest is written.
Small dictionaries are merged as in a binary counter, so their number stays about log n.  A chain
of n definitions costs n log n, where a copy for each would cost n squared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Layered(Mapping[Key, Value], Generic[Key, Value]):
    """A dictionary; bindings of its children do not change it."""

    __slots__ = ("_layers",)

    def __init__(self, *layers: dict[Key, Value]) -> None:
        self._layers: list[dict[Key, Value]] = list(layers) or [{}]

    def __getitem__(self, key: Key) -> Value:
        for layer in self._layers:
            if key in layer:
                return layer[key]
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        for layer in self._layers:  # noqa: SIM110 (this is where elaboration spends its time)
            if key in layer:
                return True
        return False

    def get(self, key: Key, default: Any = None) -> Any:
        """The value of ``key``, or ``default``."""
        for layer in self._layers:
            if key in layer:
                return layer[key]
        return default

    def __iter__(self) -> Iterator[Key]:
        return iter({key: None for layer in reversed(self._layers) for key in layer})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __setitem__(self, key: Key, value: Value) -> None:
        self._layers[0][key] = value

    def setdefault(self, key: Key, value: Value) -> None:
        """Bind ``key`` unless it is bound."""
        if key not in self:
            self[key] = value

    def update(self, others: Mapping[Key, Value]) -> None:
        """Bind all names of ``others``."""
        self._layers[0].update(others)

    def child(self) -> Layered[Key, Value]:
        """A dictionary that can be extended without changing this one."""
        layers = self._layers
        while len(layers) > 1 and 2 * len(layers[0]) >= len(layers[1]):
            layers[:2] = [{**layers[1], **layers[0]}]
        return Layered({}, *layers)
