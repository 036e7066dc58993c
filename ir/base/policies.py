"""Names of policies: which code versions a program gets, and what has no say in that.

A policy is one of :data:`POLICIES`, or one of an installed package.  Behind it may stand
:data:`IGNORING` and, for each rule that is left out, :data:`WITHOUT` with its name.
"""

from __future__ import annotations

from collections.abc import Iterable

from runelift.ir.base import plugins

POLICIES = ("all", "full", "divided", "classic", "moderate")
"""The names, the default first; :mod:`runelift.rewrite.flatten.policy` says what they keep."""
IGNORING = "+ignore-attributes"
"""Behind the name of a policy: as if attributes that steer flattening were not there."""
CHECKPOINTS = "+checkpoints"
"""Behind the name of a policy, before other additions: loops in reverse mode have versions."""
WITHOUT = "+without-"
"""Behind the name of a policy, in front of the name of a rule or pass that is left out."""


def policies() -> tuple[str, ...]:
    """The names of all policies; policies of installed packages come last."""
    return (*POLICIES, *(each.name for each in plugins.declared(plugins.POLICIES)
                         if each.name not in POLICIES))


def base_policy(policy: str) -> str:
    """The name of a policy without its additions.

    >>> base_policy("classic+ignore-attributes"), base_policy("all+without-G7"), base_policy("all")
    ('classic', 'all', 'all')
    """
    return policy.partition(WITHOUT)[0].removesuffix(IGNORING).removesuffix(CHECKPOINTS)


def within(memory: int | str | None, policy: str, text: str) -> str:
    """The policy for a program under a bound of memory.

    In reverse mode, loops then have versions that keep fewer states.

    >>> within("1GB", "all+without-fuse", "vjp f x 1"), within(None, "all", "vjp f x 1")
    ('all+checkpoints+without-fuse', 'all')
    """
    base = base_policy(policy)
    if memory is None or has_checkpoints(policy) or not ("vjp" in text or "mjp" in text):
        return policy
    return f"{base}{CHECKPOINTS}{policy[len(base):]}"


def has_checkpoints(policy: str) -> bool:
    """True if loops in reverse mode have versions with checkpoints; ``full`` has all versions."""
    base = base_policy(policy)
    return base == "full" or policy.startswith(base + CHECKPOINTS)


def ignores_attributes(policy: str) -> bool:
    """True if attributes are ignored."""
    return policy.partition(WITHOUT)[0].endswith(IGNORING)


def disabled_rules(policy: str) -> frozenset[str]:
    """The names of rules and passes that are left out.

    >>> sorted(disabled_rules("all+without-G7+without-fuse")), sorted(disabled_rules("all"))
    (['G7', 'fuse'], [])
    """
    return frozenset(policy.split(WITHOUT)[1:])


def policy_with(base: str, *, ignores_attributes: bool = False, without: Iterable[str] = ()) -> str:
    """The name of a policy with additions behind it.

    >>> policy_with("all", ignores_attributes=True, without=["fuse", "G7"])
    'all+ignore-attributes+without-G7+without-fuse'
    """
    return "".join([base, IGNORING if ignores_attributes else "",
                    *(WITHOUT + name for name in sorted(set(without)))])
