"""A call of an entry point, and a way to make it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from runelift.runtime.execution.device_array import DeviceArray
from runelift.runtime.programs.program import Program
from runelift.runtime.tools.profiling.next_step import Kind
from runelift.runtime.versions.choose import RequiredVersions


@dataclass(frozen=True, slots=True)
class Way:
    """A way to make a call: ``time`` says the seconds.  ``detail`` is what a command needs."""

    kind: Kind
    name: str
    time: Callable[[], float]
    detail: str = ""


class NumpyFunction(NamedTuple):
    """A NumPy function that should have equal results, and its name in words."""

    function: Callable[..., Any]
    name: str


@dataclass(frozen=True)
class Call:
    """A call of an entry point, with arguments on the host or on the device."""

    program: Program
    entry: str
    args: Sequence[Any]
    force: Mapping[str, int] = field(default_factory=dict)
    numpy: NumpyFunction | None = None

    @property
    def transparent(self) -> bool:
        """True if each parameter is a scalar or an array of scalars."""
        return not any(each.opaque for each in
                       self.program.compiled.signatures[self.entry].params)

    def on_host(self) -> list[Any]:
        """The arguments as arrays and scalars of NumPy."""
        return [each.get() if isinstance(each, DeviceArray) else np.asarray(each)[()]
                for each in self.args]

    def seconds_from_python(self, args: Sequence[Any], *, to_host: bool) -> float:
        """The seconds of a call as Python sees them."""
        program, force = self.program, RequiredVersions(self.force)
        started = time.perf_counter()
        if program.loaded.repeat(self.entry, args, program.thresholds, force,
                                 to_host=to_host) is None:
            program.run(self.entry, args, force=self.force, device_arrays=not to_host)
        return time.perf_counter() - started
