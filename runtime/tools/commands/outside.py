"""Text about what comes from outside: from packages that are installed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from runelift.ir.base import plugins
from runelift.ir.base.numerals import counted
from runelift.ir.base.plugins import Plugin
from runelift.ir.base.policies import POLICIES, base_policy
from runelift.rewrite.engine.rule import Rule
from runelift.rewrite.passes.simplify import further_rules


def listed() -> Iterator[tuple[str, str, str]]:
    """The other plug-ins of packages: kind and package, name, description."""
    for group in (plugins.POLICIES, plugins.STRATEGIES, plugins.OBSERVERS):
        for plugin, found in plugins.loaded(group):
            yield _from(plugin), plugin.name, _description(found)


def _from(plugin: Plugin) -> str:
    plural = f"{plugin.kind[:-1]}ies" if plugin.kind.endswith("y") else f"{plugin.kind}s"
    return f"{plural} of the package {plugin.package}"


def _description(found: object) -> str:
    """The first line of a docstring; empty if there is none."""
    text = getattr(getattr(found, "function", found), "__doc__", None) or ""
    return next(iter(text.strip().splitlines()), "")


def rules() -> Iterator[tuple[str, Rule]]:
    """The rules of packages, with where they come from."""
    yield from ((_from(plugin), rule) for plugin, rule in further_rules().values())


def used(policy: str, fired: Counter[str]) -> list[str]:
    """Lines about what packages did to a program: its policy, and the firings of rules."""
    lines = list[str]()
    if (name := base_policy(policy)) not in POLICIES:
        lines += [f"policy {name} of the package {each.package}"
                  for each in plugins.declared(plugins.POLICIES) if each.name == name]
    for name, (plugin, _) in further_rules().items():
        times = counted(fired[name], "time")
        lines.append(f"rule {name} of the package {plugin.package}: fired {times}")
    return lines
