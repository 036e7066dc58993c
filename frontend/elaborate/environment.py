"""Environments of the elaboration: the values of names."""

from __future__ import annotations

from typing import TypeAlias

from runelift.frontend.elaborate.values import Env, Value
from runelift.frontend.syntax.layered import Layered
from runelift.ir.names import VName

Environment: TypeAlias = Layered[str | VName, Value]


def inside(env: Env) -> Environment:
    """An environment that can be extended without changing ``env``."""
    return env.child() if isinstance(env, Layered) else Layered({}, dict(env))
