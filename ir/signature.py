"""Signatures of entry points: their parameters and results, in terms of the source.

Core functions know only the primitive parts of values.  A record is the values of its fields, an
array of tuples is a tuple of arrays.  A signature says which parts make up one value, so callers
need not take values apart.  :mod:`runelift.frontend.signatures` finds them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Component:
    """One parameter or result: its ``type`` in source syntax, without sizes.

    It has ``parts`` primitive parts; it is ``opaque`` unless it is a scalar or array of scalars.
    ``name`` is that of a parameter, "" if it is a pattern; ``written`` is the type with its sizes.
    """

    type: str
    parts: int
    opaque: bool
    name: str = ""
    written: str = ""


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters and results of an entry point; a tuple is several results.

    ``sizes`` are the names of its size parameters; ``doc`` is its documentation comment.
    """

    params: tuple[Component, ...]
    results: tuple[Component, ...]
    sizes: tuple[str, ...] = ()
    doc: str = ""
