"""Short-circuiting: a value that is copied into a part of an array is made there at once.

An update takes its value from an operation that ran some time before.  The pass moves the update to
right behind that operation, and into the versions of code that make the value.  Statements that
looked at the old array in between look at the new one, if they are proved to look elsewhere::

    ys = segmap ...                       ys  = segmap ...
    zs = ... a[r] ... ys ...       ⇒      a'  = a with [s] <- ys
    a' = a with [s] <- ys                 ys' = a'[s]
                                          zs  = ... a'[r] ... ys' ...

If no work-item of the operation looks at what another one overwrites, the update is marked
:data:`~runelift.ir.analysis.placement.PLACED`.  The host plan may then give the memory of ``a`` to
the operation (:mod:`runelift.codegen.hostplan.in_place`), and nothing is left of the update.  The
meaning is by value all the time; whether the memory is free is seen when the plan is made.

Source: Munksgaard, Henriksen, Sadayappan and Oancea 2022, "Memory Optimizations in an Array
Language" (SC), section 4, who do this on the memory of a program with one version.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import consumed_in
from runelift.ir.analysis.placement import MOVED, PLACED
from runelift.ir.names import Names, VName
from runelift.ir.traverse import atoms_of, body_of, free_vars, map_inside, stm_of, substitute_stm
from runelift.ir.types import Atom, as_name
from runelift.rewrite.analysis.bounds import Known
from runelift.rewrite.analysis.regions import Region, accesses, disjoint, region
from runelift.rewrite.engine.rule import Rewriting, rule
from runelift.rewrite.passes.concat_parts import concat_in_parts, maker, scalars_for
from runelift.rewrite.passes.in_place import Views, made_in_place, note_view, shown
from runelift.rewrite.passes.rearranged_results import with_rearranged_results


def short_circuit(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """``program`` with updates where their values are made."""
    names, funs = rewriting.names, []
    for fun in program.funs:
        known = Known(Rewriting(names, fuel=0))
        known.declare(fun.params)
        funs.append(replace(fun, body=_Walk(names, rewriting).body(fun.body, known, {})))
    return ir.Program(tuple(funs))


@dataclass(frozen=True, slots=True)
class _Walk:
    """The walk of this pass over code that the host runs."""

    names: Names
    rewriting: Rewriting

    def body(self, body: ir.Body, known: Known, views: Views) -> ir.Body:
        """Short-circuit in a body of the host; ``views`` are the views known at its start."""
        body = with_rearranged_results(body, known.types, self.names, self.rewriting)
        body = self._with_parts(body, known)
        body = self._with_moves(body, known.inner(), views)
        views = dict(views)
        stms = list(body.stms)
        for place, stm in enumerate(stms):
            stm = stm_of(stm, self._inside(stm.exp, known, views))
            stms[place] = stm
            if isinstance(stm.exp, ir.SegMap) and self.rewriting.permits(made_in_place):
                self._mark(stms, place, known, views)
            known.pass_by(stm)
            note_view(views, stm)
        return body_of(body, stms, body.result)

    def _inside(self, exp: ir.Exp, known: Known, views: Views) -> ir.Exp:
        match exp:
            case ir.If(cond, then_, else_):
                yes, no = known.inner(), known.inner()
                yes.assume(cond, True)
                no.assume(cond, False)
                return replace(exp, then_=self.body(then_, yes, views),
                               else_=self.body(else_, no, views))
            case ir.Loop() | ir.Recursion() | ir.Versions():
                return map_inside(exp, lambda b: self.body(b, known.within(exp), views), _as_it_is)
        return exp

    def _mark(self, stms: list[ir.Stm], place: int, known: Known, views: Views) -> None:
        """Mark the updates behind a map whose values it may make in place."""
        for update in (place + n for n in made_in_place.apply(stms[place:], known, views)):
            marked = replace(stms[update], attrs=(*stms[update].attrs, PLACED))
            self.rewriting.record(made_in_place, (stms[place], stms[update]), (marked,))
            stms[update] = marked

    def _with_parts(self, body: ir.Body, known: Known) -> ir.Body:
        """The body with concatenations as updates, where short-circuiting these may succeed."""
        if not any(isinstance(stm.exp, ir.Concat) for stm in body.stms):
            return body
        types = {**known.types, **{p.name: p.type for stm in body.stms for p in stm.pat}}
        done: list[ir.Stm] = []
        for stm in body.stms:
            done.append(stm)
            if isinstance(stm.exp, ir.Concat):
                done = list(self.rewriting.tried(concat_in_parts, (stm,), done, types, self.names)
                            or done)
        return replace(body, stms=tuple(done))

    def _with_moves(self, body: ir.Body, known: Known, views: Views) -> ir.Body:
        """The body with its updates where they can be earliest."""
        if not any(isinstance(stm.exp, ir.Update) for stm in body.stms):
            return body
        rest, done = _Rest(body), _Done(known, dict(views))
        while (stm := rest.take()) is not None:
            moved = None
            if isinstance(stm.exp, ir.Update) and self.rewriting.permits(update_early):
                moved = update_early.apply(_Site(self.names, done, rest, stm, stm.exp))
            if moved is None:
                done.append(stm)
                continue
            self.rewriting.record(update_early, (stm,), moved.stms)
            done.replace_from(moved.place, moved.stms)
            rest.rename(moved.renamed)
            rest.put_back(moved.back)
        return body_of(body, done.stms, rest.result())


@dataclass(slots=True)
class _Done:
    """The statements of a body so far: the facts after them, and the places of names."""

    known: Known
    views: Views
    stms: list[ir.Stm] = field(default_factory=list)
    places: dict[VName, int] = field(default_factory=dict)

    def append(self, stm: ir.Stm) -> None:
        """Add a statement."""
        self.known.pass_by(stm)
        self._note(stm)

    def replace_from(self, place: int, stms: Sequence[ir.Stm]) -> None:
        """Replace all statements from ``place`` on by ``stms``, which may bind new names."""
        for stm in self.stms[place:]:
            for param in stm.pat:
                self.places.pop(param.name, None)
                self.views.pop(param.name, None)
        del self.stms[place:]
        for stm in stms:
            self.known.declare(stm.pat)
            self._note(stm)

    def _note(self, stm: ir.Stm) -> None:
        self.places.update((p.name, len(self.stms)) for p in stm.pat)
        note_view(self.views, stm)
        self.stms.append(stm)

    def place(self, name: VName) -> int:
        """The index of the statement that binds ``name``; -1 for names from outside of the body."""
        return self.places.get(name, -1)


class _Rest:
    """The statements of a body that are still to come, and its result.

    They come with the present names of variables that were renamed before.
    """

    def __init__(self, body: ir.Body) -> None:
        self.body = body
        self.next = 0
        self.back: list[ir.Stm] = []
        self.present: dict[VName, VName] = {}
        self.before: dict[VName, list[VName]] = {}
        self.last: dict[VName, int] = {}
        for place, stm in enumerate(body.stms):
            self.last.update(dict.fromkeys(free_vars(stm), place))
        self.last.update((a, len(body.stms)) for a in body.result if isinstance(a, VName))

    @cached_property
    def consumed(self) -> set[VName]:
        """The names consumed somewhere in the body; computed when first used."""
        return consumed_in(self.body)

    def take(self) -> ir.Stm | None:
        """The next statement, if there is one."""
        if self.back:
            return self.back.pop()
        if self.next == len(self.body.stms):
            return None
        stm = self.body.stms[self.next]
        self.next += 1
        if not self.present:
            return stm
        renamed = {n: self.present[n] for n in free_vars(stm) if n in self.present}
        return substitute_stm(stm, renamed) if renamed else stm

    def put_back(self, stms: Sequence[ir.Stm]) -> None:
        """Let these be the next statements."""
        self.back += reversed(stms)

    def result(self) -> tuple[Atom, ...]:
        """The result of the body, under the current names of renamed arrays."""
        return tuple(self.present.get(a, a) if isinstance(a, VName) else a
                     for a in self.body.result)

    def rename(self, renamed: Mapping[VName, VName]) -> None:
        """Replace old names by new names in the statements to come."""
        for old, new in renamed.items():
            names = self.before.pop(old, [old])
            self.before.setdefault(new, [new]).extend(names)
            self.present.update(dict.fromkeys(names, new))
        self.back = [substitute_stm(stm, renamed) for stm in self.back]

    def _names(self, name: VName) -> list[VName]:
        return self.before.get(name, [name])

    def uses(self, name: VName) -> bool:
        """True if a name is used in the statements still to come."""
        return any(self.last.get(n, -1) >= self.next for n in self._names(name)) or any(
            name in free_vars(stm) for stm in self.back)

    def keeps(self, name: VName) -> bool:
        """True if an array is a result, or is consumed, and so must remain a separate array."""
        return any(n in self.consumed or n in self.body.result for n in self._names(name))


@dataclass(frozen=True, slots=True)
class _Site:
    """An update, with the statements of its body before and after it.

    ``back`` are statements that come directly after the update.
    """

    names: Names
    done: _Done
    rest: _Rest
    stm: ir.Stm
    update: ir.Update
    back: tuple[ir.Stm, ...] = ()

    @property
    def known(self) -> Known:
        """The facts that hold at the update."""
        return self.done.known

    @property
    def target(self) -> Region:
        """The region that the update changes."""
        return region(self.known, self.update.dims)

    def wanted(self, name: VName, between: Iterable[ir.Stm] = ()) -> bool:
        """True if a name is used later, or by the statements ``between``."""
        return self.rest.uses(name) or any(name in free_vars(s) for s in (*between, *self.back))


@dataclass(frozen=True, slots=True)
class _Moved:
    """The statements from ``place`` on that are the outcome, and what follows them."""

    place: int
    stms: tuple[ir.Stm, ...]
    renamed: dict[VName, VName]
    back: tuple[ir.Stm, ...]


@dataclass(frozen=True, slots=True)
class _Made:
    """The statement that makes the value of an update, and its rearrangement if any, by index."""

    place: int
    view: int | None


def _as_it_is(lam: ir.Lambda) -> ir.Lambda:
    return lam


@rule(ir.Update)
def update_early(site: _Site) -> _Moved | None:
    """ys = e; zs = f a ys; a' = a with [s] ← ys ⇒ ys = e; a' = a with [s] ← ys; zs = f a' a'[s]

    Provided: e is a map, or versions of code with one.  f looks at a outside of s only, and so does
    everything that looks at a slice of a later.  Nothing looks at a itself later.
    Because: the work-items of e can write into the memory of a.  Versions make their update
    themselves, as the last thing that they do.
    Does not handle: values that loops, scans and reductions make.
    Source: Munksgaard, Henriksen, Sadayappan and Oancea 2022, section 4.
    """
    made = _maker(site)
    if made is None or not _is_last_look(site):
        return None
    if (other := _later_update(site, made)) is not None:
        return update_early.apply(other)  # type: ignore[no-any-return]
    front = _front(site, made)
    scalars = _scalars(site, made.place)
    if front is None or scalars is None:
        return None
    between = [s for n, s in enumerate(site.done.stms[front:], front)
               if n not in scalars and n != made.view]
    known, target = site.known, site.target
    aliases = {name: where for name, where in shown(
        site.update.array, site.done.views, known).items() if site.done.place(name) < front}
    stale = [name for name in aliases if name != site.update.array and site.wanted(name, between)]
    if not all(disjoint(known, aliases[name], target) for name in stale):
        return None
    array = {site.update.array: aliases[site.update.array]}
    if not all(disjoint(access.known, access.region, target) for stm in between
               for access in accesses(stm, dict(array), known)):
        return None
    return _moved(site, made, front, scalars, between, stale)


def _maker(site: _Site) -> _Made | None:
    """The maker of the update's value, if that can make it in place."""
    value, stms = site.update.value, site.done.stms
    if site.update.checked or not isinstance(value, VName) or not any(
            isinstance(d, ir.SliceDim) for d in site.update.dims):
        return None
    found = maker(value, stms, site.done.place)
    if found is None:
        return None
    made, view = found
    if view is not None:
        turned = ir.node_of(stms[view], ir.Rearrange)
        others = (s for n, s in enumerate(stms[made + 1:], made + 1) if n != view)
        if site.wanted(turned.array, others):
            return None
    return _Made(made, view)


def _is_last_look(site: _Site) -> bool:
    """True if nothing later reads the old array or needs a separate array for the value."""
    value = as_name(site.update.value)
    return not site.wanted(site.update.array) and not site.rest.keeps(value)


def _later_update(site: _Site, made: _Made) -> _Site | None:
    """The site where the update comes before the one that it follows, which stays where it is.

    That one changes another part of the array, after the value was made, and nothing else looks at
    what it makes.
    """
    place, stms = site.done.place(site.update.array), site.done.stms
    other = stms[place] if place > made.place else None
    if other is None or not isinstance(other.exp, ir.Update) or MOVED in other.attrs:
        return None
    if (not disjoint(site.known, region(site.known, other.exp.dims), site.target)
            or any(site.update.array in free_vars(s) for s in stms[place + 1:])):
        return None
    (param,) = site.stm.pat
    first = ir.Param(site.names.fresh(param.name), param.type)
    update = replace(site.update, array=other.exp.array)
    last = replace(other, pat=(param,), exp=replace(other.exp, array=first.name))
    done = _Done(site.known, dict(site.done.views), list(stms), dict(site.done.places))
    done.replace_from(place, stms[place + 1:])
    return replace(site, done=done, stm=replace(site.stm, pat=(first,), exp=update),
                   update=update, back=(last, *site.back))


def _front(site: _Site, made: _Made) -> int | None:
    """The place where the update can stand: behind the map, or updates by its other results."""
    array = site.done.place(site.update.array)
    if array <= made.place:
        return made.place + 1
    if isinstance(site.done.stms[made.place].exp, ir.Versions):
        return None
    for stm in site.done.stms[made.place + 1:array + 1]:
        if not (MOVED in stm.attrs or isinstance(stm.exp, ir.Rearrange)):
            return None
    return array + 1


def _scalars(site: _Site, place: int) -> list[int] | None:
    """The statements behind ``place`` that compute the indices of the update."""
    atoms = [atom for dim in site.update.dims for atom in atoms_of(dim)]
    return scalars_for(atoms, site.done.stms, place)


def _moved(site: _Site, made: _Made, front: int, scalars: list[int], between: list[ir.Stm],
           stale: list[VName]) -> _Moved:
    """The body with the update at ``front``."""
    (param,), value, old = site.stm.pat, site.update.value, site.done.stms
    assert isinstance(value, VName)
    again = _Again(site, {site.update.array: param.name})
    for name in stale:
        again.derive(name)
    if site.wanted(value, between):
        again.bind(value, ir.Index(param.name, site.update.dims))
    followers = old[made.place + 1:front]
    maker, copies = _without_copies(site, old[made.place], (*followers, *between))
    stm = replace(site.stm, attrs=tuple(dict.fromkeys((*site.stm.attrs, MOVED))))
    if isinstance(maker.exp, ir.Versions):
        view = old[made.view] if made.view is not None else None
        behind = [_in_versions(site.names, maker, maker.exp, stm, site.update, view)]
    else:
        views = [old[made.view]] if made.view is not None else []
        behind = [maker, *followers, *views, stm]
    place = min([made.place, *copies])
    kept = [s for n, s in enumerate(old[place:made.place], place) if n not in copies]
    return _Moved(place, (
        *kept, *(old[n] for n in sorted(scalars)), *behind, *again.views,
        *(substitute_stm(s, again.renamed) for s in between)), again.renamed,
        tuple(substitute_stm(s, again.renamed) for s in site.back))


@dataclass(slots=True)
class _Again:
    """Slices of the old array, made again of the new one, under new names."""

    site: _Site
    renamed: dict[VName, VName]
    views: list[ir.Stm] = field(default_factory=list)

    def derive(self, name: VName) -> VName:
        """The slice of the new array for a slice ``name`` of the old one."""
        if name not in self.renamed:
            old = self.site.done.views[name]
            assert old.dims is not None
            self.bind(name, ir.Index(self.derive(old.array), old.dims))
        return self.renamed[name]

    def bind(self, name: VName, exp: ir.Index) -> None:
        """Bind a fresh name to the element or part that ``name`` meant, and rename ``name``."""
        fresh = self.site.names.fresh(name)
        self.views.append(ir.Stm((ir.Param(fresh, self.site.known.types[name]),), exp))
        self.renamed[name] = fresh


def _in_versions(names: Names, maker: ir.Stm, exp: ir.Versions, stm: ir.Stm,
                 update: ir.Update, view: ir.Stm | None) -> ir.Stm:
    """The versions with the update at the end of each, for the result that was its value.

    The array may be another result of theirs, which they need not return then.  ``view``: the
    value is a rearrangement of the result, made by this statement.
    """
    (param,) = stm.pat
    pat = [p.name for p in maker.pat]
    turned = view.exp if view is not None else None
    made = turned.array if isinstance(turned, ir.Rearrange) else update.value
    value, array = pat.index(made), (  # type: ignore[arg-type]
        pat.index(update.array) if update.array in pat else None)
    kept = [k for k in range(len(pat)) if k != array]

    def updated(body: ir.Body) -> ir.Body:
        fresh = names.fresh(param.name)
        old = as_name(update.array if array is None else body.result[array])
        stms, there = list(body.stms), body.result[value]
        if view is not None and isinstance(turned, ir.Rearrange):
            assert isinstance(there, VName)
            copy = ir.Param(names.fresh(view.pat[0].name), view.pat[0].type)
            stms.append(replace(view, pat=(copy,), exp=replace(turned, array=there)))
            there = copy.name
        new = replace(stm, pat=(ir.Param(fresh, param.type),),
                      exp=replace(update, array=old, value=there))
        return ir.Body((*stms, new), tuple(fresh if k == value else body.result[k] for k in kept))

    alternatives = tuple(replace(v, body=updated(v.body)) for v in exp.alternatives)
    ret = tuple(param.type if k == value else exp.ret[k] for k in kept)
    return replace(maker, pat=tuple(param if k == value else maker.pat[k] for k in kept),
                   exp=replace(exp, alternatives=alternatives, ret=ret))


def _without_copies(site: _Site, maker: ir.Stm, others: Sequence[ir.Stm]
                    ) -> tuple[ir.Stm, list[int]]:
    """The maker with views instead of copies of parts of the array that only it looks at.

    Also the places of these copies.  They were as good as views
    (:func:`~runelift.ir.analysis.consumption.idle_copies`) until the update came so close.
    """
    aliases = shown(site.update.array, site.done.views, site.known)
    found: list[int] = []
    for name in sorted(free_vars(maker), key=lambda n: n.tag):
        place = site.done.place(name)
        copied = site.done.stms[place].exp if place >= 0 else None
        if not isinstance(copied, ir.Copy) or copied.array not in aliases:
            continue
        between = [s for s in site.done.stms[place + 1:] if maker.pat != s.pat]
        if not site.wanted(name, (*between, site.stm)):
            found.append(place)
            maker = substitute_stm(maker, {name: copied.array})
    return maker, found
