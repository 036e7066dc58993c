"""Several schedules in one program: versions of the statements that schedules rewrite.

A schedule turns a program into another one that computes as much.  The statements that differ
become a :class:`~runelift.ir.syntax.Versions` node.  Rewritten statements come first, each version
behind a guard, and the statements of the program itself last.  What both programs begin and end
with stays outside.  The guard of a rewritten version *needs* the conditions under which the rewrite
holds, as far as they are not proved.  Schedules that rewrite statements elsewhere make another
site.

Source: Mogers 2023, section 6.2, and Henriksen et al. 2019 for programs with several versions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from runelift.ir import syntax as ir
from runelift.ir.base.errors import CompilerBug
from runelift.ir.base.source import Loc
from runelift.ir.constraints import Constraint
from runelift.ir.guards import Guard, Kind
from runelift.ir.names import Names, VName
from runelift.ir.sizes import Size, greatest, product
from runelift.ir.traverse import free_vars, rename_body, size_of, substitute_body
from runelift.ir.types import ArrayType, Atom, Const, Type, shape_of
from runelift.rewrite.lift.canonical import Pairing, canonical_text
from runelift.rewrite.lift.needs import Impossible, Knowledge, Unknown

MOST_VERSIONS = 6
"""The most versions of a site, with the original one."""


class Reason(Enum):
    """The reason why a schedule has no version in the program."""

    UNCHANGED = "changes nothing"
    EQUAL = "gives a program that another schedule gives, too"
    MANY = f"would be more than version {MOST_VERSIONS} of its site"
    IMPOSSIBLE = "needs what is never so"
    UNKNOWN = "needs what is not known where its version is chosen"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A function rewritten by a schedule, and the conditions under which it is equivalent.

    If it was ``asked`` for, it runs by default wherever its ``needs`` hold.
    """

    schedule: tuple[str, ...]
    fun: ir.Fun
    needs: tuple[Constraint, ...] = ()
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Dropped:
    """A schedule that gives no version, and why; ``details`` are the sizes concerned, or ""."""

    schedule: tuple[str, ...]
    reason: Reason
    details: str = ""

    @property
    def why(self) -> str:
        """The reason why the schedule gives no version, in words."""
        return f"{self.reason.value}{f', {self.details}' if self.details else ''}"


@dataclass(frozen=True, slots=True)
class Merged:
    """A function with versions, and the schedules that gave no version."""

    fun: ir.Fun
    dropped: tuple[Dropped, ...] = ()

    @property
    def counts(self) -> Counter[Reason]:
        """The number of dropped schedules for each reason."""
        return Counter(each.reason for each in self.dropped)


def with_alternatives(original: ir.Fun, rewritten: Iterable[Rewritten], names: Names) -> Merged:
    """``original`` with the rewritten functions as versions; ``names`` makes names new to all.

    All have equal parameters.  A function that was asked for and needs nothing takes the place of
    the original.
    """
    dropped, seen = list[Dropped](), {canonical_text(original): Reason.UNCHANGED}
    found = list[_Aligned]()
    for each in rewritten:
        text = canonical_text(each.fun)
        if text in seen:
            dropped.append(Dropped(each.schedule, seen[text]))
            continue
        seen[text] = Reason.EQUAL
        found.append(_align(original, each))
    stms, site = list[ir.Stm](), 0
    rest, result = 0, original.body.result
    for first, end, alike in _sites(found, len(original.body.stms)):
        stms += original.body.stms[rest:first]
        place = _Place(original, f"{original.name}.schedules_{site}", first, end, names,
                       original.body.stms[:first])
        made = place.choice(alike, dropped)
        site += any(isinstance(stm.exp, ir.Versions) for stm in made.stms)
        stms += made.stms
        rest, result = end, made.result or result
    stms += original.body.stms[rest:]
    return Merged(replace(original, body=ir.Body(tuple(stms), result)), tuple(dropped))


@dataclass(frozen=True, slots=True)
class _Aligned:
    """A rewritten function beside the original: both begin and end with like statements.

    ``first`` statements are alike at the start.  At the end there are ``last``; None if the results
    of the functions differ, so that everything from ``first`` on is rewritten.
    """

    rewritten: Rewritten
    first: int
    last: int | None
    pairing: Pairing

    def end(self, statements: int) -> int:
        """The index behind the last statement of the original that differs.

        The original has ``statements`` statements.
        """
        return statements - (self.last or 0)


def _align(original: ir.Fun, rewritten: Rewritten) -> _Aligned:
    ours, theirs = original.body, rewritten.fun.body
    pairing = Pairing()
    if not pairing.pair_atoms([p.name for p in original.params],
                              [p.name for p in rewritten.fun.params]):
        raise CompilerBug(f"a schedule changes the parameters of '{original.name}'")
    most, first = min(len(ours.stms), len(theirs.stms)), 0
    while first < most and pairing.pair_statements(ours.stms[first], theirs.stms[first]):
        first += 1
    before = pairing.copy()
    if not pairing.pair_atoms(ours.result, theirs.result):
        return _Aligned(rewritten, first, None, before)
    last, types = 0, (_types(original), _types(rewritten.fun))
    while last < most - first and pairing.pair_statements(
            ours.stms[-1 - last], theirs.stms[-1 - last], types):
        last += 1
    if first + last == len(ours.stms):  # something is new, and nothing in its place
        first, last = (first, last - 1) if last else (first - 1, last)
    return _Aligned(rewritten, first, _without_views(first, last, ours, theirs, pairing), pairing)


def _without_views(first: int, last: int, ours: ir.Body, theirs: ir.Body, pairing: Pairing) -> int:
    """The number of like statements at the end, none of which reads a view that versions make.

    Because: results of versions are stored.  A view must not be, so its readers belong to the
    versions as well.
    """
    views = {*_views(ours.stms[first:]),
             *(pairing.right.get(name) for name in _views(theirs.stms[first:]))}
    inside = views.intersection(p.name for stm in ours.stms[first:len(ours.stms) - last]
                                for p in stm.pat)
    end = len(ours.stms) - last
    for number in range(end, len(ours.stms)):
        if not inside.isdisjoint(free_vars(ours.stms[number])):
            inside.update(p.name for stm in ours.stms[end:number + 1] for p in stm.pat
                          if p.name in views)
            end = number + 1
    return len(ours.stms) - end


def _views(stms: Iterable[ir.Stm]) -> Iterator[VName]:
    """The arrays that statements make as views of other arrays."""
    return (p.name for stm in stms if isinstance(stm.exp, ir.VIEWS) for p in stm.pat
            if isinstance(p.type, ArrayType))


def overlapping(original: ir.Fun, rewritten: Sequence[Rewritten]) -> list[list[int]]:
    """The numbers of functions that rewrite statements in common, together."""
    found = [_align(original, each) for each in rewritten]
    numbers = {id(each): number for number, each in enumerate(found)}
    sites = [[numbers[id(each)] for each in alike]
             for _, _, alike in _sites(found, len(original.body.stms))]
    if any(each.last is None for each in found):  # a site that ends with the function
        return [sorted(number for site in sites for number in site)]
    return [sorted(site) for site in sites]


def _types(fun: ir.Fun) -> dict[VName, Type]:
    """The types of a function's parameters and of the names that its outermost statements bind."""
    return {p.name: p.type for p in (*fun.params, *(p for stm in fun.body.stms for p in stm.pat))}


def _sites(found: Iterable[_Aligned], statements: int
           ) -> Iterator[tuple[int, int, list[_Aligned]]]:
    """The places where statements are rewritten, in order, with the functions that differ there."""
    sites = list[tuple[int, int, list[_Aligned]]]()
    for each in sorted(found, key=lambda each: each.first):
        first, end = each.first, each.end(statements)
        if sites and first < sites[-1][1]:
            start, before, alike = sites[-1]
            sites[-1] = start, max(before, end), [*alike, each]
        else:
            sites.append((first, end, [each]))
    yield from sites


@dataclass(frozen=True, slots=True)
class _Made:
    """The statements of a site; ``result`` is that of the function, if the site makes it."""

    stms: tuple[ir.Stm, ...]
    result: tuple[Atom, ...] = ()


@dataclass(slots=True)
class _Place:
    """The statements of a function from ``first`` to ``end``, of which there are versions."""

    original: ir.Fun
    site: str
    first: int
    end: int
    names: Names
    before: Sequence[ir.Stm]
    thresholds: int = field(default=0, init=False)

    def choice(self, found: Sequence[_Aligned], dropped: list[Dropped]) -> _Made:
        """A choice between the functions; the statements of the original if none is left."""
        whole = any(each.last is None for each in found)
        if whole:
            self.end = len(self.original.body.stms)
        stms = self.original.body.stms[self.first:self.end]
        outs = () if whole else self._used_later()
        knowledge = Knowledge.of(self.original.params, self.before)
        versions = list[ir.Version]()
        for each in found:
            if len(versions) == MOST_VERSIONS - 1:
                dropped.append(Dropped(each.rewritten.schedule, Reason.MANY))
                continue
            try:
                needs = self._needs(each, knowledge)
            except Impossible as why:
                dropped.append(Dropped(each.rewritten.schedule, Reason.IMPOSSIBLE, str(why)))
                continue
            except Unknown as why:
                dropped.append(Dropped(each.rewritten.schedule, Reason.UNKNOWN, str(why)))
                continue
            body = self._body(each, outs)
            if each.rewritten.asked and not needs:
                return self._made(stms, whole, outs, body)
            versions.append(ir.Version(self._guard(stms, knowledge, needs, each.rewritten),
                                       Kind.REWRITTEN, body, each.rewritten.schedule))
        if not versions:
            return _Made(stms)
        own = ir.Body(stms, self.original.body.result if whole else tuple(p.name for p in outs))
        return self._made(stms, whole, outs, *versions,
                          ir.Version(None, Kind.ORIGINAL, rename_body(own, self.names)))

    def _made(self, stms: Sequence[ir.Stm], whole: bool, outs: Sequence[ir.Param],
              *found: ir.Version | ir.Body) -> _Made:
        """The statement that binds what the site makes."""
        pat = self._fresh_results() if whole else tuple(outs)
        result = tuple(p.name for p in pat) if whole else ()
        ret = tuple(p.type for p in pat)
        if isinstance(found[0], ir.Body):
            copies = tuple(ir.Stm((p,), ir.AtomExp(atom))
                           for p, atom in zip(pat, found[0].result, strict=True))
            return _Made((*found[0].stms, *copies), result)
        loc = next((stm.loc for stm in stms if stm.loc), None)
        versions = tuple(each for each in found if isinstance(each, ir.Version))
        return _Made((ir.Stm(pat, ir.Versions(self.site, versions, ret), loc=loc),), result)

    def _fresh_results(self) -> tuple[ir.Param, ...]:
        """Parameters for the results of the function, whose types may name each other."""
        fresh = {p.name: self.names.fresh(p.name) for p in self.original.results}
        return tuple(ir.Param(fresh[p.name], _renamed(p.type, fresh))
                     for p in self.original.results)

    def _used_later(self) -> tuple[ir.Param, ...]:
        """The names bound by these statements that the rest of the function uses, also in types."""
        body = self.original.body
        used = free_vars(ir.Body(body.stms[self.end:], body.result))
        bound = [p for stm in body.stms[self.first:self.end] for p in stm.pat]
        count = -1
        while count < len(used):  # sizes of arrays, and what else there may be
            count = len(used)
            used.update(size for p in bound if p.name in used for size in shape_of(p.type)
                        if isinstance(size, VName))
        return tuple(p for p in bound if p.name in used)

    def _body(self, each: _Aligned, outs: Sequence[ir.Param]) -> ir.Body:
        """The statements of a rewritten function that stand at the site, with names of ours."""
        theirs = each.rewritten.fun.body
        after = len(self.original.body.stms) - self.end
        stms = theirs.stms[self.first:len(theirs.stms) - after]
        result = tuple(each.pairing.left[p.name] for p in outs) if outs else theirs.result
        copy = rename_body(ir.Body(stms, result), self.names)
        return substitute_body(copy, {name: each.pairing.right[name] for name in free_vars(copy)
                                      if name in each.pairing.right})

    def _needs(self, each: _Aligned, knowledge: Knowledge) -> tuple[Constraint, ...]:
        """The needs of a function that are not known to be met, about names of ours."""
        theirs = each.rewritten.fun.body.stms
        definitions = {p.name: stm for stm in theirs for p in stm.pat}
        return knowledge.open(each.rewritten.needs, definitions, each.pairing.right)

    def _guard(self, stms: Sequence[ir.Stm], knowledge: Knowledge, needs: tuple[Constraint, ...],
               rewritten: Rewritten) -> Guard:
        name = f"{self.site.replace('schedules', 'suff_schedule')}_{self.thresholds}"
        self.thresholds += 1
        key = f"{self.original.name}@{_place(stms)}/{Kind.REWRITTEN.value}/0"
        return Guard(name, key, Kind.REWRITTEN, widest_nest(stms, knowledge.numbers),
                     default=1 if rewritten.asked else None, needs=needs)


def _place(stms: Iterable[ir.Stm]) -> str:
    loc: Loc | None = next((stm.loc for stm in stms if stm.loc), None)
    return f"{loc.line}:{loc.column}" if loc else "?"


def _renamed(type_: Type, names: dict[VName, VName]) -> Type:
    shape = tuple(names.get(size, size) if isinstance(size, VName) else size
                  for size in shape_of(type_))
    return replace(type_, shape=shape) if shape else type_  # type: ignore[type-var]


def widest_nest(stms: Iterable[ir.Stm], known: frozenset[VName]) -> Size:
    """The points of the largest nest in statements; widths that are not ``known`` count as one."""
    return greatest(Size.of(1), *(
        product([size_of(width) for width in widths
                 if isinstance(width, Const) or width in known])
        for widths in _nests(stms)))


def _nests(stms: Iterable[ir.Stm]) -> Iterator[tuple[Atom, ...]]:
    """The widths of the nests of SOACs."""
    for stm in stms:
        match stm.exp:
            case (ir.Map(width=width, lam=lam) | ir.Redomap(width=width, lam=lam)
                  | ir.Scanomap(width=width, lam=lam) | ir.Scatter(width=width, lam=lam)
                  | ir.Hist(width=width, lam=lam) | ir.Accumulate(width=width, lam=lam)):
                yield from ((width, *inner) for inner in [*_nests(lam.body.stms)] or [()])
            case ir.Loop(body=body):
                yield from _nests(body.stms)
            case ir.If(then_=then_, else_=else_):
                yield from _nests((*then_.stms, *else_.stms))
