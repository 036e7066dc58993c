"""Names of policies: which code versions a program gets, and if its attributes have a say.

A policy is one of :data:`POLICIES`, with :data:`IGNORING` behind it if the attributes of the source
that steer flattening are to be ignored.
"""

from __future__ import annotations

from runelift.ir import plugins

POLICIES = ("all", "full", "divided", "classic", "moderate")
"""The names, the default first; :mod:`runelift.rewrite.flatten.policy` says what they keep."""
IGNORING = "+ignore-attributes"
"""Behind the name of a policy: as if attributes that steer flattening were not there."""


def policies() -> tuple[str, ...]:
    """The names of all policies, those of installed packages last."""
    return (*POLICIES, *(each.name for each in plugins.declared(plugins.POLICIES)
                         if each.name not in POLICIES))


def base_policy(policy: str) -> str:
    """The name of a policy alone.

    >>> base_policy("classic+ignore-attributes"), base_policy("all")
    ('classic', 'all')
    """
    return policy.removesuffix(IGNORING)


def ignores_attributes(policy: str) -> bool:
    """True if attributes are ignored."""
    return policy.endswith(IGNORING)


def with_attributes_ignored(policy: str) -> str:
    """The policy without regard to attributes."""
    return policy if ignores_attributes(policy) else policy + IGNORING
