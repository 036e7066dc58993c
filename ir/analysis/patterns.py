"""Access patterns: how the work-items of a kernel read and write the arrays around it.

Every reference to an array outside of the kernel has a class, which follows from its index
expressions.  An index of the points of the kernel (*g*) is another number in every work-item.  A
counter of a sequential loop inside (*c*) takes the same numbers in all of them.

The classes say which arrays are worth a copy in local memory.  They also say which elements are
shared by several work-items, or by several points of one.

Source: Fernández-Fabeiro, Andrade, Fraguela and Doallo, An automatic optimizer for heterogeneous
devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from runelift.ir import syntax as ir
from runelift.ir.base.source import Loc
from runelift.ir.meaning import apply
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.traverse import bodies_inside, bodies_of, bound_by, free_vars, lambdas_of
from runelift.ir.types import ArrayType, Atom, Const, Type, i64


class Pattern(IntEnum):
    """The class of a reference, from simple to complex."""

    NONE = 0
    SINGLE = 1
    INNER = 2
    ROW = 3
    COLUMN = 4
    DEPTH = 5
    RADIUS = 6
    UNKNOWN = 7

    @property
    def title(self) -> str:
        """The name that the paper has for it."""
        return TITLES[self][0]

    @property
    def meaning(self) -> str:
        """The meaning of the class for work-items, in words."""
        return TITLES[self][1]


TITLES = {
    Pattern.NONE: ("NoPat", "all work-items use the same element"),
    Pattern.SINGLE: ("SinglePat", "each work-item uses a different element"),
    Pattern.INNER: ("InnerPat", "all work-items walk the same elements"),
    Pattern.ROW: ("RowPat", "each work-item walks along a row"),
    Pattern.COLUMN: ("ColPat", "each work-item walks down a column"),
    Pattern.DEPTH: ("DepthPat", "each work-item walks through planes"),
    Pattern.RADIUS: ("RadiusPat", "each work-item walks a neighbourhood"),
    Pattern.UNKNOWN: ("Unknown", "which elements are used depends on data, or on products"),
}

WALKS = {0: Pattern.ROW, 1: Pattern.COLUMN, 2: Pattern.DEPTH}
"""The class of a reference whose work-items walk the last dimension but so many."""


@dataclass(frozen=True, slots=True)
class Affine:
    """A sum of indices and counters with constant factors, and of values equal for all work-items.

    ``text`` shows it.
    """

    text: str
    points: frozenset[VName] = frozenset()
    counters: frozenset[VName] = frozenset()
    known: bool = True
    constant: bool = False

    @property
    def varies(self) -> bool:
        """True if two work-items, or two iterations, may have different values of the sum."""
        return bool(self.points or self.counters) or not self.known


@dataclass(frozen=True, slots=True)
class Reference:
    """Elements of ``array`` that a kernel reads or writes, with its index in each dimension.

    ``around`` has the counters of each loop around.
    """

    array: VName
    dims: tuple[Affine, ...]
    around: tuple[frozenset[VName], ...] = field(default=(), compare=False)

    @property
    def points(self) -> frozenset[VName]:
        """The indices of points that the index depends on."""
        return frozenset[VName]().union(*(dim.points for dim in self.dims))

    @property
    def counters(self) -> frozenset[VName]:
        """The counters of loops that the index depends on."""
        return frozenset[VName]().union(*(dim.counters for dim in self.dims))

    @property
    def pattern(self) -> Pattern:
        """The access pattern of the reference."""
        if not all(dim.known for dim in self.dims):
            return Pattern.UNKNOWN
        if any(dim.points and dim.counters for dim in self.dims):
            return Pattern.RADIUS
        walked = [place for place, dim in enumerate(reversed(self.dims)) if dim.counters]
        if not walked:
            return Pattern.SINGLE if self.points else Pattern.NONE
        if not self.points:
            return Pattern.INNER
        return WALKS.get(walked[0], Pattern.UNKNOWN) if len(walked) == 1 else Pattern.UNKNOWN

    def __str__(self) -> str:
        return f"{self.array}[{', '.join(dim.text for dim in self.dims)}]"


def references(kernel: ir.SegOp, type_of: Callable[[VName], Type]) -> list[Reference]:
    """The references of a kernel to arrays from outside, in order.

    The last index of a reduction is a counter: work-items go through its elements.  ``type_of``
    knows the names around the kernel.
    """
    points = [dim.index for dim in kernel.space]
    counters = [points.pop()] if isinstance(kernel, ir.SegRed) else []
    env: dict[VName, _Value] = {p: _point(p) for p in points}
    env |= {c: _counter(c) for c in counters}
    walk = _Walk(type_of, env, made=set(bound_by(kernel)) - env.keys())
    walk.body(kernel.body)
    if isinstance(kernel, ir.SegScan) and kernel.post is not None:
        walk.made |= {p.name for p in kernel.post.params}
        walk.body(kernel.post.body)
    return list(dict.fromkeys(walk.found))


@dataclass(frozen=True, slots=True)
class _Open:
    """A dimension of a part, from an index of the array around on; None: from the beginning."""

    start: Affine | None = None

    def at(self, index: Affine | _Open) -> Affine | _Open:
        """The index of the outer array, for an index or a dimension of the part."""
        if self.start is None:
            return index
        if isinstance(index, Affine):
            return _combined("add", self.start, index)
        return self if index.start is None else _Open(_combined("add", self.start, index.start))

    @property
    def whole(self) -> Affine:
        """All of the dimension as an index."""
        return WHOLE if self.start is None else UNKNOWN


@dataclass(frozen=True, slots=True)
class _Part:
    """An array inside of a kernel that is part of an array from outside."""

    array: VName
    dims: tuple[Affine | _Open, ...]

    def at(self, indices: Sequence[Affine | _Open]) -> tuple[Affine | _Open, ...]:
        """The indices of the outer array, for the first ``indices`` of the part.

        Dimensions of the part without an index stay open.
        """
        own = iter([*indices, *[_Open()] * len(self.dims)])
        return tuple(dim.at(next(own)) if isinstance(dim, _Open) else dim for dim in self.dims)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """An array of numbers that depend on their place only."""

    first: Affine
    step: Affine


_Value: TypeAlias = Affine | _Part | _Numbers

UNKNOWN = Affine("?", known=False)
WHOLE = Affine(":")


@dataclass(slots=True)
class _Walk:
    """The statements of a kernel one after the other, with known facts about their results.

    Names without an entry are from around the kernel, or unknown if ``made`` has them.
    """

    type_of: Callable[[VName], Type]
    env: dict[VName, _Value]
    made: set[VName] = field(default_factory=set)
    found: list[Reference] = field(default_factory=list)
    around: tuple[frozenset[VName], ...] = ()

    def body(self, body: ir.Body) -> None:
        """Record the references in all statements of a body."""
        for stm in body.stms:
            self.statement(stm)

    def statement(self, stm: ir.Stm) -> None:
        """Note the references of a statement, and facts about its results."""
        self.made |= {p.name for p in stm.pat}
        match stm.exp:
            case ir.Index(array, dims):
                self.index(stm.pat[0].name, array, dims)
            case ir.PrimOp(op, Prim.I64, (left, right)) if op in ("add", "sub", "mul"):
                self.env[stm.pat[0].name] = _combined(op, self.affine(left), self.affine(right))
            case ir.AtomExp(VName() as name) if (value := self.value(name)) is not None:
                self.env[stm.pat[0].name] = value
            case ir.Iota(_, start, step, Prim.I64):
                self.env[stm.pat[0].name] = _Numbers(self.affine(start), self.affine(step))
            case ir.Rearrange(perm, array) if isinstance(part := self.value(array), _Part):
                kept = [k for k, dim in enumerate(part.dims) if isinstance(dim, _Open)]
                if sorted(kept) == kept and perm == tuple(range(len(perm))):
                    self.env[stm.pat[0].name] = part
            case (ir.Map(_, lam, arrays) | ir.Redomap(_, _, lam, arrays)
                  | ir.Scanomap(_, _, lam, arrays)):
                self.elements(lam, arrays)
            case ir.Loop(params, form, body):
                self.made |= {p.param.name for p in params}
                for param in params:
                    self.whole(param.init)
                own = {p.param.name: _walked(p.param.name) for p in params
                       if p.param.type is Prim.I64}
                if isinstance(form, ir.ForLoop):
                    own[form.index] = _counter(form.index)
                self.env.update(own)
                self.loop(body, own)
            case (ir.SegMap() | ir.SegRed() | ir.SegScan() | ir.SegScatter() | ir.SegHist()
                  | ir.SegAccumulate()):
                self.env |= {d.index: _point(d.index) for d in stm.exp.space}
                self.other(stm)
            case _:
                self.other(stm)

    def loop(self, body: ir.Body, counters: Iterable[VName]) -> None:
        """Record the references in the body of a loop."""
        outside, self.around = self.around, (*self.around, frozenset(counters))
        self.body(body)
        self.around = outside

    def elements(self, lam: ir.Lambda, arrays: Sequence[VName]) -> None:
        """Record a function that is applied to the elements of arrays, one after the other."""
        self.made |= {p.name for p in lam.params}
        if lam.params:
            place = _counter(lam.params[0].name)
            for param, array in zip(lam.params, arrays, strict=True):
                self.element(param.name, array, place)
        self.loop(lam.body, place.counters if lam.params else ())

    def element(self, name: VName, array: VName, place: Affine) -> None:
        """Record a reference to an element of an array whose index is known."""
        match self.value(array):
            case _Numbers(first, step):
                self.env[name] = _combined("add", first, _combined("mul", place, step))
            case _Part() as part:
                self.select(name, part, [place])

    def index(self, name: VName, array: VName, dims: Sequence[ir.Dim]) -> None:
        """Record ``array[dims]``."""
        match self.value(array):
            case _Part() as part:
                self.select(name, part, list(map(self.dim, dims)))
            case _Numbers():
                if not isinstance(dims[0], ir.SliceDim):
                    self.element(name, array, self.affine(dims[0]))

    def dim(self, dim: ir.Dim) -> Affine | _Open:
        """An index, or a slice that leaves a dimension open."""
        if not isinstance(dim, ir.SliceDim):
            return self.affine(dim)
        if dim.stride != i64(1):
            return _Open(UNKNOWN)
        return _Open() if dim.start == i64(0) else _Open(self.affine(dim.start))

    def select(self, name: VName, part: _Part, indices: Sequence[Affine | _Open]) -> None:
        """Record an element as a reference, or a name for a part of an array."""
        dims = part.at(indices)
        known = [dim for dim in dims if isinstance(dim, Affine)]
        if len(known) == len(dims):
            self.refer(part.array, known)
        else:
            self.env[name] = _Part(part.array, dims)

    def other(self, stm: ir.Stm) -> None:
        """Record a statement that uses arrays as a whole, or whose inside is not followed."""
        self.made |= set(bound_by(stm.exp)) - self.env.keys()
        inner = bodies_inside(stm.exp)
        for lam in lambdas_of(stm.exp):
            self.made |= {p.name for p in lam.params}
        for body in inner:
            self.body(body)
        used = free_vars(stm) - {v for body in inner for v in free_vars(body)}
        for name in sorted(used, key=lambda n: n.tag):
            self.whole(name)

    def whole(self, atom: Atom) -> None:
        """Record a reference to a whole array, if ``atom`` is one."""
        if isinstance(atom, VName) and isinstance(part := self.value(atom), _Part):
            self.refer(part.array, [dim.whole if isinstance(dim, _Open) else dim
                                    for dim in part.dims])

    def refer(self, array: VName, dims: Sequence[Affine]) -> None:
        """Record a reference to an element or part of ``array``."""
        self.found.append(Reference(array, tuple(dims), self.around))

    def value(self, name: VName) -> _Value | None:
        """The known value of a name, if any."""
        if name not in self.env and name not in self.made:
            return self.outer(name)
        return self.env.get(name)

    def outer(self, name: VName) -> _Value:
        """The value of a name that is bound outside of the kernel."""
        type_ = self.type_of(name)
        return (_Part(name, (_Open(),) * len(type_.shape)) if isinstance(type_, ArrayType)
                else Affine(str(name)))

    def affine(self, atom: Atom) -> Affine:
        """A scalar as a sum of indices, counters and constants."""
        if isinstance(atom, Const):
            return Affine(str(atom.value), constant=True)
        value = self.value(atom)
        return value if isinstance(value, Affine) else UNKNOWN


def _point(name: VName) -> Affine:
    return Affine(str(name), points=frozenset({name}))


def _counter(name: VName) -> Affine:
    return Affine(str(name), counters=frozenset({name}))


def _walked(name: VName) -> Affine:
    """An index that takes other, unknown values in every iteration."""
    return Affine(str(name), counters=frozenset({name}), known=False)


def _combined(op: str, left: Affine, right: Affine) -> Affine:
    """A sum, difference or product; products keep sums as they are only with a constant."""
    sign = {"add": "+", "sub": "-", "mul": "*"}[op]
    if left.constant and right.constant:
        return Affine(str(int(apply(op, Prim.I64, int(left.text), int(right.text)))), constant=True)
    if (op, left.text) == ("add", "0") or (op, left.text) == ("mul", "1"):
        return right
    if right.text == ("1" if op == "mul" else "0"):
        return left
    known = left.known and right.known and (
        op != "mul" or left.constant or right.constant or not (left.varies or right.varies))
    texts = [f"({each.text})" if op == "mul" and " " in each.text else each.text
             for each in (left, right)]
    if op == "sub" and " " in right.text:
        texts[1] = f"({right.text})"
    return Affine(f" {sign} ".join(texts), left.points | right.points,
                  left.counters | right.counters, known)


# All kernels of a program


@dataclass(frozen=True, slots=True)
class Accesses:
    """The references of the kernel of a segmented operation; ``name`` is that of its result."""

    name: str
    loc: Loc | None
    kernel: ir.SegOp
    references: tuple[Reference, ...]


def accesses(fun: ir.Fun) -> list[Accesses]:
    """The references of all kernels of an entry point, in all of its versions."""
    found: list[Accesses] = []
    _collect(fun.body, {p.name: p.type for p in fun.params}, found)
    return found


def _collect(body: ir.Body, types: dict[VName, Type], found: list[Accesses]) -> None:
    for stm in body.stms:
        if isinstance(stm.exp, ir.SEGOPS):
            found.append(Accesses(str(stm.pat[0].name) if stm.pat else "effect", stm.loc, stm.exp,
                                  tuple(references(stm.exp, types.__getitem__))))
        elif isinstance(stm.exp, ir.Recursion):
            inner = {p.param.name: p.param.type for p in stm.exp.params}
            _collect(stm.exp.body, {**types, **inner}, found)
        elif isinstance(stm.exp, ir.Loop):
            inner = {p.param.name: p.param.type for p in stm.exp.params}
            index = {stm.exp.form.index: Prim.I64} if isinstance(stm.exp.form, ir.ForLoop) else {}
            _collect(stm.exp.body, {**types, **inner, **index}, found)
        else:
            for inside in bodies_of(stm.exp):
                _collect(inside, dict(types), found)
        types |= {p.name: p.type for p in stm.pat}


def render(found: Iterable[Accesses]) -> str:
    """The classes of references as text."""
    lines: list[str] = []
    for each in found:
        space = ", ".join(str(dim.index) for dim in each.kernel.space)
        kind = type(each.kernel).__name__.lower()
        lines.append(f"{each.name} ({kind} over {space})" + (f" at {each.loc}" if each.loc else ""))
        shown = [(str(r), r.pattern.title, r.pattern.meaning) for r in each.references]
        widths = [max((len(row[k]) for row in shown), default=0) for k in range(2)]
        lines += [f"  {text:<{widths[0]}}  {title:<{widths[1]}}  -- {meaning}"
                  for text, title, meaning in shown]
    return "\n".join(lines)
