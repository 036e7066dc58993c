"""Layouts: a map makes its results in the layout that they are wanted in.

A layout operation or a slice between two array operations keeps them apart: the first stores what
the second reads.  Here the layout moves in front of the maps that make the array, to what they
read.  So the same nest comes of a map over flat places and of maps over rows, and fusion finds its
partners.
"""
# ruff: noqa: D403 (a law begins with what it is about)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from runelift.ir import syntax as ir
from runelift.ir.analysis.consumption import consumed_by
from runelift.ir.names import Names, VName
from runelift.ir.points import settings
from runelift.ir.prim import Prim
from runelift.ir.traverse import bodies_inside, free_vars
from runelift.ir.types import Atom, Type, array_of, elem_of, i64, row_of, shape_of
from runelift.rewrite.engine.code import Code
from runelift.rewrite.engine.outward import OutwardWalk, each_body
from runelift.rewrite.engine.pick import users
from runelift.rewrite.engine.rule import Rewriting, Rule, rule
from runelift.rewrite.engine.scalar_code import body_may_fail
from runelift.rewrite.engine.scope import is_whole, whole
from runelift.rewrite.flatten.parallelism import is_cheap

FLAT_READERS = (ir.Map, ir.Scanomap, ir.Hist, ir.Scatter)
"""Operations that fuse with a map over flat places; reductions go row by row instead."""
DIVISIONS = ("quot", "div", "rem", "mod")


@dataclass(frozen=True, slots=True)
class Level:
    """A map of a nest: ``stms`` are the statements of its body without the next map."""

    width: Atom
    params: tuple[ir.Param, ...]
    arrays: tuple[VName, ...]
    stms: tuple[ir.Stm, ...]


@dataclass(frozen=True, slots=True)
class Nest:
    """Nested maps; ``result`` is the value at a point, of type ``type``."""

    levels: tuple[Level, ...]
    result: Atom
    type: Type

    @property
    def independent(self) -> bool:
        """True if no level reads an array that depends on an outer level."""
        vary: set[VName] = set()
        for level in self.levels:
            if not vary.isdisjoint(level.arrays):
                return False
            vary |= {p.name for p in level.params}
            for stm in level.stms:
                if not vary.isdisjoint(free_vars(stm)):
                    vary |= {p.name for p in stm.pat}
        return True


@dataclass(slots=True)
class Wanted:
    """A layout to make directly: ``made`` by a map, changed by ``layout``, read by ``reader``."""

    made: ir.Stm
    layout: ir.Stm
    reader: ir.Soac | None
    defs: dict[VName, ir.Stm] = field(repr=False)
    names: Names = field(repr=False)


@rule(ir.Reshape)
def unflatten_map(wanted: Wanted) -> tuple[ir.Stm, ...] | None:
    """reshape (n, m) (map f xs) ⇒ map (map f) (reshape (n, m) xs)

    Provided: nothing else needs map f xs.  An array operation reads the rows, or f divides its
    index by m, or xs was made by flattening such rows.
    """
    exp = ir.node_of(wanted.layout, ir.Reshape)
    nest = nest_of(wanted.made, 1)
    if nest is None:
        return None
    inner = shape_of(nest.type)
    outer = exp.shape[:len(exp.shape) - len(inner)]
    if len(outer) < 2 or exp.shape[len(outer):] != inner:
        return None
    if (wanted.reader is None and not _divides(nest, wanted, outer[-1])
            and not _flattened(nest, wanted, outer)):
        return None
    built = _Built(wanted, outer)
    place: Atom = built.indices[0].name
    for size, index in zip(outer[1:], built.indices[1:], strict=True):
        place = built.compute("add", built.compute("mul", place, size), index.name)
    (level,) = nest.levels
    for param, array in zip(level.params, level.arrays, strict=True):
        if built.is_made(array):
            built.take(param, array, (place,))
        else:
            shape = (*outer, *shape_of(param.type))
            built.take(param, built.view(ir.Reshape(shape, array), shape, param.type),
                       tuple(p.name for p in built.indices))
    built.inside.out += level.stms
    return built.done(nest)


@rule(ir.Reshape)
def flatten_nest(wanted: Wanted) -> tuple[ir.Stm, ...] | None:
    """reshape (n * m) (map (map f) xss) ⇒ map f (reshape (n * m) xss)

    Provided: nothing else needs the matrix, and a map, scan, histogram or scatter reads the
    elements.
    """
    exp = ir.node_of(wanted.layout, ir.Reshape)
    before = shape_of(wanted.made.pat[0].type)
    depth = len(before) - len(exp.shape) + 1
    if depth < 2 or exp.shape[1:] != before[depth:] or not (
            isinstance(wanted.reader, FLAT_READERS) and wanted.reader.width == exp.shape[0]):
        return None
    nest = nest_of(wanted.made, depth)
    if nest is None:
        return None
    built = _Built(wanted, exp.shape[:1])
    place: Atom = built.indices[0].name
    indices: list[Atom] = []
    for level in reversed(nest.levels[1:]):
        indices.insert(0, built.compute("rem", place, level.width))
        place = built.compute("quot", place, level.width)
    indices.insert(0, place)
    roots: dict[VName, VName] = {}
    for depth_, level in enumerate(nest.levels):
        found: dict[VName, VName] = {}
        for param, array in zip(level.params, level.arrays, strict=True):
            root = array if depth_ == 0 else roots.get(array)
            if root is not None and not built.is_made(root):
                found[param.name] = root
            if root is None or depth_ + 1 < depth or param.name not in found:
                built.take(param, array, (indices[depth_],))
            else:
                shape = (exp.shape[0], *shape_of(param.type))
                built.take(param, built.view(ir.Reshape(shape, root), shape, param.type),
                           (built.indices[0].name,))
        built.inside.out += level.stms
        roots = found
    return built.done(nest)


@rule(ir.Rearrange)
def transpose_nest(wanted: Wanted) -> tuple[ir.Stm, ...] | None:
    """transpose (map (λx → map (λy → e) ys) xs) ⇒ map (λy → map (λx → e) xs) ys

    Provided: nothing else needs the matrix.  An array operation reads the result, or ys does not
    depend on x.
    Because: otherwise the matrix is stored and transposed.
    """
    exp = ir.node_of(wanted.layout, ir.Rearrange)
    depth = max((k + 1 for k, dim in enumerate(exp.perm) if k != dim), default=0)
    nest = nest_of(wanted.made, depth) if depth else None
    if nest is None or (wanted.reader is None and not nest.independent):
        return None
    built = _Built(wanted, tuple(nest.levels[k].width for k in exp.perm[:depth]))
    for number, level in enumerate(nest.levels):
        index = built.indices[exp.perm.index(number)].name
        for param, array in zip(level.params, level.arrays, strict=True):
            built.take(param, array, (index,))
        built.inside.out += level.stms
    return built.done(nest)


@rule(ir.Index)
def slice_of_map(wanted: Wanted) -> tuple[ir.Stm, ...] | None:
    """(map f xs)[a :+ m, j] ⇒ map (λx → (f x)[j]) xs[a :+ m]

    Provided: nothing else needs map f xs, and the slice needs no check.  f cannot fail, unless the
    slice is whole.
    Because: elements outside of the slice are not computed, and what is inside is not stored.
    """
    exp, made = wanted.layout.exp, wanted.made.exp
    assert isinstance(exp, ir.Index)
    assert isinstance(made, ir.Map)
    first, *rest = exp.dims
    if (exp.checked or not isinstance(first, ir.SliceDim) or settings(wanted.made)
            or len(wanted.made.pat) != 1
            or not (is_whole(first, made.width) or not body_may_fail(made.lam.body))):
        return None
    fresh, loc = wanted.names.fresh, wanted.layout.loc
    parts = [ir.Param(fresh("part"), array_of((first.count,), p.type)) for p in made.lam.params]
    slices = [ir.Stm((part,), ir.Index(a, (first, *map(whole, shape_of(p.type)))), loc=loc)
              for part, a, p in zip(parts, made.arrays, made.lam.params, strict=True)]
    (out,), (result,) = wanted.layout.pat, made.lam.body.result
    if not rest:
        lam = made.lam
    else:
        assert isinstance(result, VName)
        element = ir.Param(fresh("x"), row_of(out.type))
        picked = ir.Stm((element,), ir.Index(result, tuple(rest)), loc=loc)
        lam = ir.Lambda(made.lam.params, ir.Body((*made.lam.body.stms, picked), (element.name,)),
                        (element.type,))
    return (*slices, replace(wanted.layout, exp=ir.Map(
        first.count, lam, tuple(part.name for part in parts))))


LAYOUTS: tuple[Rule, ...] = (unflatten_map, flatten_nest, transpose_nest, slice_of_map)
"""The rules of this pass."""


class _Built:
    """A nest under construction: indices of its levels, views around it, statements inside."""

    def __init__(self, wanted: Wanted, widths: Sequence[Atom]) -> None:
        self.wanted, self.widths = wanted, widths
        self.around, self.inside = Code(wanted.names), Code(wanted.names)
        self.around.loc = self.inside.loc = wanted.layout.loc
        self.indices = [self.inside.fresh("i", Prim.I64) for _ in widths]

    def is_made(self, array: VName) -> bool:
        """True if elements of ``array`` follow from their index, so that no layout is needed."""
        made = self.wanted.defs.get(array)
        return made is not None and isinstance(made.exp, ir.Iota | ir.Replicate)

    def compute(self, op: str, left: Atom, right: Atom) -> VName:
        """Add an i64 that each point computes; its name."""
        return self.inside.computed(op, left, right, base="i")

    def view(self, exp: ir.Reshape, shape: tuple[Atom, ...], element: Type) -> VName:
        """Add a view outside of the nest; its name."""
        return self.around.emitted("fs", array_of(shape, elem_of(element)), exp)

    def take(self, param: ir.Param, array: VName, indices: tuple[Atom, ...]) -> None:
        """Bind ``param`` to the part of ``array`` behind the indices."""
        self.inside.emit(ir.Stm((param,), ir.Index(
            array, (*indices, *map(whole, shape_of(param.type)))), loc=self.wanted.made.loc))

    def done(self, nest: Nest) -> tuple[ir.Stm, ...]:
        """The statements of the nest, which binds the name of the layout."""
        loc = self.wanted.made.loc
        (out,) = self.wanted.layout.pat
        body, type_ = self.inside.as_body(nest.result), nest.type
        for number in reversed(range(len(self.widths))):
            width = self.widths[number]
            counted = self.around.emitted("is", array_of((width,), Prim.I64),
                                          ir.Iota(width, i64(0), i64(1), Prim.I64))
            lam = ir.Lambda((self.indices[number],), body, (type_,))
            type_ = array_of((width, *shape_of(type_)), elem_of(type_))
            rows = self.around.fresh("rows", type_) if number else out
            stm = ir.Stm((rows,), ir.Map(width, lam, (counted,)), loc=loc)
            body = ir.Body((stm,), (rows.name,))
        return (*self.around.out, *body.stms)


def nest_of(stm: ir.Stm, depth: int) -> Nest | None:
    """The nest of ``depth`` maps that makes an array, if all else in it is cheap; else None."""
    levels: list[Level] = []
    while True:
        exp = stm.exp
        if not isinstance(exp, ir.Map) or settings(stm) or len(stm.pat) != 1:
            return None
        (result,), stms = exp.lam.body.result, exp.lam.body.stms
        last = len(levels) + 1 == depth
        levels.append(Level(exp.width, exp.lam.params, exp.arrays, stms if last else stms[:-1]))
        if last:
            return Nest(tuple(levels), result, exp.lam.ret[0])
        if not stms or result not in [p.name for p in stms[-1].pat] or not all(
                is_cheap(each.exp) for each in stms[:-1]):
            return None
        stm = stms[-1]


def _divides(nest: Nest, wanted: Wanted, size: Atom) -> bool:
    """True if the function of a map divides its index by ``size``."""
    (level,) = nest.levels
    counters = {p.name for p, a in zip(level.params, level.arrays, strict=True)
                if a in wanted.defs and isinstance(wanted.defs[a].exp, ir.Iota)}
    return any(_divided(stm, counters, size) for stm in level.stms)


def _flattened(nest: Nest, wanted: Wanted, outer: tuple[Atom, ...]) -> bool:
    """True if the map reads an array that has ``outer`` as its outer sizes before a reshape."""
    for array in nest.levels[0].arrays:
        match wanted.defs.get(array):
            case ir.Stm(exp=ir.Reshape(array=origin)) if origin in wanted.defs:
                (before,) = (p for p in wanted.defs[origin].pat if p.name == origin)
                if shape_of(before.type)[:len(outer)] == outer:
                    return True
    return False


def _divided(stm: ir.Stm, counters: set[VName], size: Atom) -> bool:
    """True if a statement, or one inside of it, divides one of ``counters`` by ``size``."""
    exp = stm.exp
    if isinstance(exp, ir.PrimOp):
        return exp.op in DIVISIONS and exp.args[0] in counters and exp.args[1] == size
    return any(_divided(inner, counters, size)
               for body in bodies_inside(exp) for inner in body.stms)


def arrange(program: ir.Program, rewriting: Rewriting) -> ir.Program:
    """``program`` with layouts moved in front of the maps that make the arrays."""
    return each_body(program, _Arranger(rewriting).body)


class _Arranger(OutwardWalk):
    """The pass on a program."""

    def rewritten(self, stms: list[ir.Stm], result: tuple[Atom, ...]) -> list[ir.Stm]:
        """The statements with layouts moved, one at a time."""
        while (changed := self._arranged(stms, result)) is not None:
            stms = changed
        return stms

    def _arranged(self, stms: list[ir.Stm], result: tuple[Atom, ...]) -> list[ir.Stm] | None:
        """The statements with one layout moved; None if none moves."""
        layouts = [k for k, stm in enumerate(stms)
                   if isinstance(stm.exp, ir.Rearrange | ir.Reshape | ir.Index)]
        if not layouts:
            return None
        uses = users(stms, result)
        places = {p.name: k for k, stm in enumerate(stms) for p in stm.pat}
        for place in layouts:
            layout = stms[place]
            assert isinstance(layout.exp, ir.Rearrange | ir.Reshape | ir.Index)
            array = layout.exp.array
            maker = places.get(array)
            if (maker is None or uses[array] != 1 or not isinstance(stms[maker].exp, ir.Map)
                    or any(consumed_by(stm) for stm in stms[maker + 1:place])):
                continue
            wanted = Wanted(stms[maker], layout, _reader(stms[place:], layout), self.defs,
                            self.rewriting.names)
            for each in LAYOUTS:
                new = self.rewriting.tried(each, (wanted.made, layout), wanted) if isinstance(
                    layout.exp, each.heads) else None
                if new is not None:
                    self.defs |= {p.name: stm for stm in new for p in stm.pat}
                    return [*stms[:maker], *stms[maker + 1:place], *new, *stms[place + 1:]]
        return None


def _reader(stms: Sequence[ir.Stm], layout: ir.Stm) -> ir.Soac | None:
    """The array operation that reads the elements of a layout, perhaps in another layout."""
    (name,) = (p.name for p in layout.pat)
    for stm in stms[1:]:
        match stm.exp:
            case ir.Rearrange(array=array) | ir.Reshape(array=array) if array == name:
                name = stm.pat[0].name
            case ir.Map() | ir.Redomap() | ir.Scanomap() | ir.Scatter() | ir.Hist() as soac if (
                    name in soac.arrays):
                return soac
    return None
