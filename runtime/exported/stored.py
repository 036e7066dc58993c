"""Entry points and plans as files, for a copy of Runelift's modules under another name."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from zlib import compress, decompress

from runelift.codegen.plan.plan import Plan
from runelift.ir.base.deep import deeply
from runelift.ir.signature import Signature
from runelift.runtime.cache.fast_pickle import dumps
from runelift.runtime.versions.size_guards import SizeGuard

WRITTEN_BY, ROOT = "runelift", __name__.partition(".")[0]
"""The root of modules in files, and that of this copy of them."""


class PlanKind(NamedTuple):
    """The properties of a device that its plans are made for
    (:meth:`~runelift.runtime.compilation.compiled.Compiled.plan`).
    """

    interleave: bool
    coherent: bool


KINDS = (PlanKind(False, False), PlanKind(True, False), PlanKind(True, True))
"""Processors, GPUs, and GPUs whose work-groups see each other's writes."""


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry point: its signature, size guards by site, and its plans as pickles."""

    name: str
    signature: Signature
    guards: Mapping[str, SizeGuard]
    plans: Mapping[PlanKind, bytes]

    def plan(self, interleave: bool, coherent: bool) -> Plan:
        """The plan for a kind of devices."""
        found: Plan = loads(self.plans[PlanKind(interleave, coherent)])
        return found


class _Unpickler(pickle.Unpickler):
    """An unpickler that finds Runelift's classes in this copy of its modules."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        root, dot, rest = module_name.partition(".")
        return super().find_class(f"{ROOT}{dot}{rest}" if root == WRITTEN_BY else module_name,
                                  global_name)


@deeply
def loads(content: bytes) -> Any:
    """The object in a file; it must be from someone who may run code here."""
    return _Unpickler(io.BytesIO(decompress(content))).load()


def save(path: Path, value: Any) -> None:
    """Write a file for :func:`load`."""
    path.write_bytes(stored(value))


def load(path: Path) -> Any:
    """The object that :func:`save` has written."""
    return loads(path.read_bytes())


def stored(value: Any) -> bytes:
    """A pickle for :func:`loads`."""
    return compress(dumps(value), 9)
