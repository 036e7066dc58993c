"""Values of free scalars, which a repeated run brings along.

See :mod:`runelift.codegen.plan.free_scalars`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runelift.codegen.emit.python import scalars_source
from runelift.codegen.plan.free_scalars import free_scalars
from runelift.codegen.plan.plan import Plan, ValueSpec
from runelift.ir.types import Atom
from runelift.runtime.devices.kernel import LateScalar


class FreeValues:
    """The free scalars of a plan and the scalars derived from them, in the order of late scalars.

    ``names`` are the names of the free arguments, ``specs`` their types by position.  ``places``
    are both together.  ``arrays`` are the positions of arrays.
    """

    def __init__(self, host: Plan, load: Callable[[str], Callable[..., tuple[Any, ...]]]) -> None:
        found = free_scalars(host)
        self.names = [str(name) for name in found.params]
        self.specs: dict[int, ValueSpec] = {
            n: spec for n, spec in enumerate(host.params) if spec.name in found.params}
        self.places = [(n, str(spec.name), spec) for n, spec in self.specs.items()]
        self.arrays = [n for n, spec in enumerate(host.params) if spec.shape is not None]
        self._late: Mapping[Atom, LateScalar] = {
            name: LateScalar(n) for n, name in enumerate((*found.params, *found.derived))}
        self._values = load(scalars_source(host, found)) if found.params else None

    def __len__(self) -> int:
        return len(self._late)

    def of(self, run: Any, args: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values for a run on these scalar arguments."""
        return () if self._values is None else self._values(run, args)

    def placed(self, names: Sequence[Atom], args: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments of a launch, with late scalars in the places of these ``names``."""
        late = self._late
        first = [late.get(name, arg) for name, arg in zip(names, args, strict=False)]
        return (*first, *args[len(first):])


def filled_late(args: Sequence[Any], scalars: Sequence[Any]) -> Sequence[Any]:
    """The arguments of a launch with values in place of late scalars."""
    return [scalars[arg.number] if isinstance(arg, LateScalar) else arg for arg in args]
