"""An entry point after the stages of the compiler, as programs on disk have it.

The compiler is not imported to read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runelift.ir.names import Names
    from runelift.ir.syntax import Fun
    from runelift.rewrite.flattening import Derivation
    from runelift.rewrite.lift.alternatives import Dropped
    from runelift.rewrite.lift.schedule import Step


@dataclass(slots=True)
class EntryStages:
    """An entry point after optimisation and after flattening; ``names`` differ from its names.

    ``steps`` are the rewrite points taken in between, ``dropped`` the schedules without a version.
    The ``derivation`` is kept if the compilation is watched.
    """

    optimised: Fun
    versioned: Fun
    names: Names
    steps: tuple[Step, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    derivation: Derivation | None = None
