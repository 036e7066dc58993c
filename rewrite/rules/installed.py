"""Rules that installed packages bring (:mod:`runelift.ir.base.plugins`).

An entry point of the group ``runelift.rules`` is a :class:`~runelift.rewrite.engine.rule.Rule`, or
several.  They apply in simplification, after all rules that have a law here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache

from runelift.ir.base import plugins
from runelift.ir.base.errors import RuneliftError, UserError
from runelift.ir.base.plugins import Plugin
from runelift.ir.syntax import Stm
from runelift.rewrite.engine.rule import Replacement, Rule, RuleBook
from runelift.rewrite.engine.scope import Scope


def installed_rules(known: Iterable[str]) -> dict[str, tuple[Plugin, Rule]]:
    """The rules of installed packages by name; names in ``known`` are taken."""
    found = dict[str, tuple[Plugin, Rule]]()
    for plugin in plugins.declared(plugins.RULES):
        for each in _rules(plugin):
            if each.name in known or each.name in found:
                plugin.left_out(f"there is a rule '{each.name}' already")
            else:
                found[each.name] = plugin, each
    return found


@cache
def _rules(plugin: Plugin) -> tuple[Rule, ...]:
    """The rules of a plug-in; none, with a warning, if its object is no rules."""
    rules = list[Rule]()
    for given in plugins.imported(plugin):
        several = given.rules if isinstance(given, RuleBook) else given
        for each in several if isinstance(several, list | tuple) else (several,):
            if not isinstance(each, Rule):
                plugin.left_out("it should be a Rule, or several")
                return ()
            rules.append(_blamed(plugin, each))
    return tuple(rules)


def _blamed(plugin: Plugin, rule: Rule) -> Rule:
    """The rule; an error in it names its package."""
    def apply(scope: Scope, stm: Stm) -> Replacement:
        try:
            new: Replacement = rule.apply(scope, stm)
        except RuneliftError:
            raise
        except Exception as error:
            raise UserError(
                f"The rule '{rule.name}' of the package {plugin.package} failed: "
                f"{type(error).__name__}: {error}.  RUNELIFT_PLUGINS=0 leaves out packages' rules."
            ) from error
        return new

    return replace(rule, apply=apply)
