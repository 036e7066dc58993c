"""From a file of rules to rules that the optimiser can apply."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from runelift.frontend.elaborate import elaborate_open
from runelift.frontend.load import checked_module
from runelift.frontend.rule_files import (
    AFTER,
    BEFORE,
    WHERE,
    RuleFile,
    WrittenRule,
    malformed,
    read_rules,
)
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.types import Arrow, Type, show, sizes_in
from runelift.ir.base.deep import deeply
from runelift.ir.base.errors import CompilerLimitation, Diagnostic, Label, ProgramError
from runelift.ir.base.source import Source
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import Body, Fun, Program
from runelift.ir.types import shape_of
from runelift.rewrite.lift.outside.apply import OutsideRules, as_rule
from runelift.rewrite.lift.outside.pattern import NoPattern, OutsideRule, Promise
from runelift.rewrite.lift.outside.replacement import as_point
from runelift.rewrite.pipeline import AS_WRITTEN, run_passes
from runelift.rewrite.registry import SIMPLIFY, Pass
from runelift.runtime.cache import disk
from runelift.runtime.rules.verify import Header, Parameter, Untestable, counterexample

TESTED = "rules"
"""The folder of the cache with a file for each text of rules that has passed its tests."""

MOST_FILES = 8
"""The files whose rules a process keeps; each stage of a compilation asks for them."""
_SIZE = re.compile(r"\[[^\[\]]*\]")
"""A size in a type."""
_LAWS = {"associative": 2, "commutative": 1}
"""The conditions about functions, with the number of their arguments."""


@lru_cache(MOST_FILES)
@deeply
def read(source: Source) -> OutsideRules:
    """The rules of a file, all of which are right; ProgramError with what is wrong with them.

    Points meet a program that has been simplified once, the pass one as it is before fusion.
    """
    file, headers = _checked(read_rules(source))
    found = [_pattern(file, rule, headers[rule.name], (SIMPLIFY,)) for rule in file.rules]
    name = disk.key(source.text, disk.fingerprint())
    if disk.load(TESTED, name) is None:
        wrong = [error for rule, each in zip(file.rules, found, strict=True)
                 if (error := _tested(file, rule, headers[rule.name], each)) is not None]
        if wrong:
            raise ProgramError(*wrong)
        disk.store(TESTED, name, b"tested")
    return OutsideRules({each.name: as_point(each) for each in found}, tuple(
        as_rule(_pattern(file, rule, headers[rule.name], AS_WRITTEN))
        for rule in file.rules if rule.always))


# Types


def _checked(file: RuleFile) -> tuple[RuleFile, dict[str, Header]]:
    """The file and the parameters of each rule; ProgramError if its sides have not one type.

    Sizes may be equal only under the rule's condition.  Then the right side is converted to the
    type of the left side, and tests on random inputs show whether it has this type.
    """
    try:
        decs = _declarations(file, typed=False)
    except ProgramError:
        decs = _declarations(file)  # a type that is written may be needed
    file = replace(file, rules=tuple(_converted(rule, decs) for rule in file.rules))
    typed = _declarations(file)
    for rule in file.rules:
        before, after = (_result(decs[rule.of(part)]) for part in (BEFORE, AFTER))
        if show(before) != show(after) and not rule.conversion and not _is_written(rule, typed):
            raise ProgramError(Diagnostic(
                "rule-types-differ", rule.name_span, f"The sides of rule '{rule.name}' have "
                f"different types: {show(before)} before and {show(after)} after.",
                (Label(rule.before, f"this is of type {show(before)}"),
                 Label(rule.after, f"this is of type {show(after)}"))))
    return file, {rule.name: _header(rule, typed[rule.of(BEFORE)]) for rule in file.rules}


def _converted(rule: WrittenRule, decs: Mapping[str, ast.ValDec]) -> WrittenRule:
    """A rule whose right side has the sizes of its left side, where a condition may say so."""
    before, after = (_result(decs[rule.of(part)]) for part in (BEFORE, AFTER))
    differ = show(before) != show(after)
    alike = _without_sizes_of(before) == _without_sizes_of(after)
    return replace(rule, conversion=show(before)) if (
        rule.where is not None and differ and alike) else rule


def _without_sizes_of(type_: Type) -> str:
    """A type as text without its sizes."""
    return _SIZE.sub("[]", show(type_))


def _is_written(rule: WrittenRule, typed: Mapping[str, ast.ValDec]) -> bool:
    """True if both sides have the type that is written in the head, with all its sizes."""
    sides = [typed[rule.of(part)] for part in (BEFORE, AFTER)]
    before, after = map(_result, sides)
    return rule.result is not None and show(before) == show(after) and all(
        sizes_in(_result(dec)) <= {p.size for p in dec.type_params if isinstance(p, ast.SizeParam)}
        for dec in sides)


def _declarations(file: RuleFile, *, typed: bool = True) -> dict[str, ast.ValDec]:
    program = checked_module(file.module(file.rules, typed=typed))
    return {dec.name: dec for dec in program.decs if isinstance(dec, ast.ValDec)}


def _result(dec: ast.ValDec) -> Type:
    """The type of what a function returns after all its parameters."""
    assert dec.type is not None
    type_ = dec.type
    for _ in dec.params:
        assert isinstance(type_, Arrow)
        type_ = type_.codomain
    return type_


def _header(rule: WrittenRule, dec: ast.ValDec) -> Header:
    params: list[Parameter] = []
    type_ = dec.type
    for pattern in dec.params:
        assert isinstance(type_, Arrow)
        match pattern:
            case ast.PatAscript(_, ast.PatName(_, name), written):
                params.append(Parameter(name, type_.domain, f"({name}: {written.span.text})",
                                        type_.param))
            case _:
                raise ProgramError(Diagnostic(
                    "malformed-rule", pattern.span, "A parameter of a rule has a name and a type.",
                    hints=("Write (name: type).",)))
        type_ = type_.codomain
    sizes = {p.name: p.size for p in dec.type_params
             if isinstance(p, ast.SizeParam) and p.size is not None}
    known = {*sizes.values(), *(p.size for p in params)}
    if isinstance(_result(dec), Arrow) or sizes_in(_result(dec)) - known:
        raise malformed(rule.before, f"Rule '{rule.name}' returns a function, or an array of "
                        "which only the running program knows the size.")
    return Header(tuple(p.name for p in dec.type_params if isinstance(p, ast.TypeParam)), sizes,
                  tuple(params))


# Patterns


def _pattern(file: RuleFile, rule: WrittenRule, header: Header, passes: Sequence[Pass]
             ) -> OutsideRule:
    """The sides of a rule as core IR after passes that programs have gone through as well."""
    markers = _markers(file, rule, header)
    module = checked_module(file.module([rule], {
        name: prim.value for name, prim in zip(header.types, markers, strict=True)}))
    names = Names()
    try:
        funs = {part: elaborate_open(module, rule.of(part), names)
                for part in (BEFORE, AFTER, WHERE) if part != WHERE or rule.where is not None}
        before, after = (_without_sizes(
            run_passes(passes, Program((funs[part],)), names, phase="core").funs[0])
            for part in (BEFORE, AFTER))
        named = {p.name: p.type for p in header.params}
        own = {p.name.base: p.name for p in before.params[before.sizes:]}
        return OutsideRule(
            rule.name, rule.law, rule.condition, rule.always, rule.name_span, before, after,
            funs.get(WHERE),
            frozenset(own[name] for name, type_ in named.items() if isinstance(type_, Arrow)),
            frozenset(markers), tuple(_promises(module, rule, own)))
    except NoPattern as reason:
        raise malformed(rule.before, f"The left side of rule '{rule.name}' cannot be looked for: "
                        f"{reason}.") from None
    except CompilerLimitation as reason:
        raise malformed(rule.name_span, f"Rule '{rule.name}' is not supported: {reason}"
                        ) from None


def _without_sizes(fun: Fun) -> Fun:
    """A function without results that are sizes of other results: a rule computes them of sizes."""
    sizes = {size for param in fun.results for size in shape_of(param.type)}
    kept = [number for number, param in enumerate(fun.results) if param.name not in sizes]
    return replace(fun, results=tuple(fun.results[k] for k in kept),
                   body=Body(fun.body.stms, tuple(fun.body.result[k] for k in kept)))


def _markers(file: RuleFile, rule: WrittenRule, header: Header) -> Sequence[Prim]:
    """A primitive type for each type parameter that the file does not speak of.

    Code cannot look into a value whose type is a parameter.  So what it becomes for one type tells
    what it is for all.
    """
    text = file.source.text
    free = [prim for prim in Prim if prim not in (Prim.BOOL, Prim.I64, Prim.I32, Prim.U8)
            and not re.search(rf"(?<![A-Za-z_']){prim}(?![\w'])", text)]
    if len(free) < len(header.types):
        raise malformed(rule.name_span, f"Rule '{rule.name}' has {len(header.types)} type "
                        f"parameters, and there is room for {len(free)} in this file.")
    return free[:len(header.types)]


def _promises(module: ast.Flat, rule: WrittenRule, own: Mapping[str, VName]) -> Iterator[Promise]:
    """The conditions about functions: parts of the condition that are joined by ``&&``."""
    for dec in module.decs:
        if not isinstance(dec, ast.ValDec) or dec.name != rule.of(WHERE):
            continue
        for each in _conjuncts(dec.body):
            match each:
                case ast.Apply(span, ast.Name(_, ast.QualName((), law)), args) if law in _LAWS:
                    names = [str(arg.name) for arg in args if isinstance(arg, ast.Name)]
                    if len(names) != _LAWS[law] or not own.keys() >= set(names):
                        raise malformed(span, f"'{law}' is said of parameters of the rule.")
                    yield Promise(law, *(own[name] for name in names))


def _conjuncts(exp: ast.Exp) -> Iterator[ast.Exp]:
    if isinstance(exp, ast.BinExp) and str(exp.op) == "&&":
        yield from _conjuncts(exp.left)
        yield from _conjuncts(exp.right)
    else:
        yield exp


# Tests


def _tested(file: RuleFile, rule: WrittenRule, header: Header, found: OutsideRule
            ) -> Diagnostic | None:
    """The error of a rule whose sides differ for some arguments, or that cannot be tested."""
    try:
        wrong = counterexample(file, rule, header, found.promises)
    except Untestable as reason:
        return Diagnostic("untestable-rule", rule.name_span,
                          f"Rule '{rule.name}' cannot be tested: {reason}.")
    if wrong is None:
        return None
    given = ", ".join(wrong.arguments)
    promised = {promise.op for promise in found.promises if promise.law == "associative"}
    hints = tuple(f"If '{op.base}' is always associative with neutral element '{neutral.base}', "
                  f"say: where associative {op.base} {neutral.base}."
                  for op, neutral in found.given if op not in promised and neutral is not None)
    return Diagnostic(
        "wrong-rule", rule.name_span, f"Rule '{rule.name}' is wrong for {given}.",
        (Label(rule.before, wrong.before), Label(rule.after, wrong.after)), hints)
