"""The syntax of the core and the versioned IR.

Both are first-order, in A-normal form, with arrays of primitive elements and unique names::

    Program ::= Fun*
    Fun     ::= entry NAME (Param*) : Type* = Body
    Body    ::= { Stm* in Atom* }
    Stm     ::= let (Param*) = Exp
    Param   ::= VName : Type
    Type    ::= prim | [Atom]...[Atom]prim
    Atom    ::= VName | Const

    Exp (core)                                          results
      copy_of a                     Atom itself          1
      op.prim(a...)                 PrimOp               1
      convert.from.to(a)            Convert              1
      [a, ...]                      ArrayLit             1
      xs[d, ...]                    Index                1   d ::= a | start :+ count * stride
      xs with [d, ...] <- a         Update               1   (a new value; xs is not changed)
      iota, replicate, concat, rearrange, reshape, copy  1
      slide, pad                                         1
      call f (a, ...)               Call                 any
      assert                        Assert               0
      if a then Body else Body      If                   any
      loop (p = a)... form do Body  Loop                 any
      recursive f (p = a)... do Body  Recursion          any
      map, redomap, scanomap, scatter, hist              any
      jvp, vjp, withvjp (before derivation only)         any

    Exp (versioned) = core, and
      segmap, segred, segscan, segscatter, seghist       any
        over a Space ::= ⟨i < n, ...⟩, or ⟨i < n, j < len[i]⟩
      versions (Guard => Body)... else Body              any

In the core IR a SOAC is parallel.  In the versioned IR only the ``Seg*`` nodes are parallel, and a
SOAC is a sequential loop of the work-item or host that executes it.

Names bound by a pattern may appear in the types of later names of the same pattern.  So a size
that only the expression knows travels as one more result before the array, such as the length of
a filtered array.

``Type`` and ``Atom`` are defined in :mod:`~runelift.ir.types`, ``Guard`` in
:mod:`~runelift.ir.guards`.  Nodes have no methods beyond properties of themselves; functions over
the union live in :mod:`~runelift.ir.traverse`, :mod:`~runelift.ir.pretty`,
:mod:`~runelift.ir.check` and :mod:`~runelift.ir.interpret`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias, TypeVar

from runelift.ir.base.errors import CompilerBug
from runelift.ir.base.source import Loc
from runelift.ir.guards import Guard, Kind
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim
from runelift.ir.ragged import Ragged
from runelift.ir.types import Atom, Const, Type

# Statements


@dataclass(frozen=True, slots=True)
class Param:
    """A bound name and its type."""

    name: VName
    type: Type


@dataclass(frozen=True, slots=True)
class Body:
    """``{stms in result}``: statements in order, then the values of the body."""

    stms: tuple[Stm, ...]
    result: tuple[Atom, ...]
    free: frozenset[VName] | None = field(default=None, init=False, repr=False, compare=False)
    """The names used but not bound; :func:`~.traverse.free_vars` notes them when first asked."""


@dataclass(frozen=True, slots=True)
class Stm:
    """``let pat = exp``.  ``attrs`` are the source's ``#[...]``, spelled as there."""

    pat: tuple[Param, ...]
    exp: Exp
    attrs: tuple[str, ...] = ()
    loc: Loc | None = field(default=None, compare=False)

    def asked(self, name: str) -> int:
        """The largest number that attributes ``name(number)`` ask for; 0 if there is none."""
        words = (attr[len(name) + 1:-1] for attr in self.attrs if attr.startswith(f"{name}("))
        return max((int(word) for word in words if word.isdecimal()), default=0)


@dataclass(frozen=True, slots=True)
class Lambda:
    """``λ params → body``, with the types of its results."""

    params: tuple[Param, ...]
    body: Body
    ret: tuple[Type, ...]


# Expressions without bodies


@dataclass(frozen=True, slots=True)
class AtomExp:
    """``a``: another name for an atom."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class PrimOp:
    """``op.prim(args)``: a row of :data:`runelift.ir.prim.OPS` at the argument type ``prim``."""

    op: str
    prim: Prim
    args: tuple[Atom, ...]

    @property
    def may_trap(self) -> bool:
        """True if this may be a division by zero."""
        divisor = self.args[-1]
        return (OPS[self.op].traps and self.prim.is_int
                and not (isinstance(divisor, Const) and divisor.value != 0))


@dataclass(frozen=True, slots=True)
class Convert:
    """``convert.from.to(a)``: see :func:`runelift.ir.meaning.convert`."""

    from_: Prim
    to: Prim
    arg: Atom


@dataclass(frozen=True, slots=True)
class ArrayLit:
    """``[a0, ..., ak] : row``: an array of the atoms, each of type ``row``."""

    elems: tuple[Atom, ...]
    row: Type


@dataclass(frozen=True, slots=True)
class SliceDim:
    """``start :+ count * stride``: the indices start, start+stride, ...; stride may be < 0."""

    start: Atom
    count: Atom
    stride: Atom


Dim: TypeAlias = Atom | SliceDim


@dataclass(frozen=True, slots=True)
class Index:
    """``arr[dims]``, one ``Dim`` per dimension of ``arr``.

    The result has the dimensions of the slices, or is a scalar if there are none.  ``checked``
    asks for a bounds check at run time; an unchecked access is known to be inside.
    """

    array: VName
    dims: tuple[Dim, ...]
    checked: bool = False


@dataclass(frozen=True, slots=True)
class Update:
    """``arr with [dims] <- value``: a new array.

    Meaning is by value.  The front end has proved that a source program never looks at the old
    array again.  So lowering updates in place whenever the operand is dead.
    """

    array: VName
    dims: tuple[Dim, ...]
    value: Atom
    checked: bool = False


@dataclass(frozen=True, slots=True)
class Iota:
    """``[start, start+step, ...]`` with ``count`` elements of the integer type ``prim``."""

    count: Atom
    start: Atom
    step: Atom
    prim: Prim


@dataclass(frozen=True, slots=True)
class Replicate:
    """An array with outer sizes ``shape`` whose every element is ``value``."""

    shape: tuple[Atom, ...]
    value: Atom


@dataclass(frozen=True, slots=True)
class Concat:
    """The concatenation of arrays along dimension ``dim``, which gets length ``size``."""

    dim: int
    arrays: tuple[VName, ...]
    size: Atom


@dataclass(frozen=True, slots=True)
class Rearrange:
    """Dimension ``k`` of the result is dimension ``perm[k]`` of ``array``."""

    perm: tuple[int, ...]
    array: VName


@dataclass(frozen=True, slots=True)
class Reshape:
    """The elements of ``array`` in row-major order with another shape of the same size."""

    shape: tuple[Atom, ...]
    array: VName


@dataclass(frozen=True, slots=True)
class Slide:
    """Windows of ``size`` neighbours along dimension ``dim``, each ``step`` behind the last.

    The dimension becomes two, of ``count`` and ``size``: element ``i, j`` there is element
    ``i * step + j`` of ``array``.  All windows are inside.
    """

    dim: int
    size: Atom
    step: Atom
    count: Atom
    array: VName


@dataclass(frozen=True, slots=True)
class Pad:
    """``before`` times the scalar ``value``, ``array``, ``after`` times ``value``, along ``dim``.

    A negative number leaves so many elements of ``array`` out.
    """

    dim: int
    before: Atom
    after: Atom
    value: Atom
    array: VName


@dataclass(frozen=True, slots=True)
class Copy:
    """``copy array``: the same value, fresh memory."""

    array: VName


@dataclass(frozen=True, slots=True)
class Call:
    """``function(args)``: a function applied, with the types of its results.

    It is the function of a :class:`Recursion` around.  In rules from outside it may also be a
    parameter, of which nothing is known.
    """

    function: VName
    args: tuple[Atom, ...]
    ret: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Assert:
    """Fail with ``message`` unless ``cond``; ``{}`` in the message stands for an argument.

    It has no result, is never removed and never moved out of a branch or loop.  Out of a lambda it
    moves with the condition that the lambda runs.
    """

    cond: Atom
    message: str
    args: tuple[Atom, ...] = ()


# Control


@dataclass(frozen=True, slots=True)
class If:
    """``if cond then then_ else else_``, with the types of the results."""

    cond: Atom
    then_: Body
    else_: Body
    ret: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class LoopParam:
    """A value carried by a loop: its name and type inside, its value at the start."""

    param: Param
    init: Atom


@dataclass(frozen=True, slots=True)
class ForLoop:
    """``for index < bound``: index is an i64 that counts from 0; a bound < 0 means 0."""

    index: VName
    bound: Atom


@dataclass(frozen=True, slots=True)
class WhileLoop:
    """``while cond``: cond is one of the loop's own bool parameters."""

    cond: VName


@dataclass(frozen=True, slots=True)
class Loop:
    """Carry ``params`` through ``body`` again and again; the body's result is their next value.

    The types of the parameters may name i64 parameters of the same loop (sizes that change).
    """

    params: tuple[LoopParam, ...]
    form: ForLoop | WhileLoop
    body: Body


@dataclass(frozen=True, slots=True)
class Recursion:
    """``function`` applied to the values of ``params``, where :class:`Call` in ``body`` applies it.

    The types of the parameters may name i64 parameters before them, as in a loop.  Each call in
    ``body`` has an argument for each parameter.  ``ret`` has the types of the results, which may
    name results.  Calls may be :data:`~runelift.ir.base.failures.MOST_CALLS` deep.
    """

    function: VName
    params: tuple[LoopParam, ...]
    body: Body
    ret: tuple[Type, ...]


# Second-order array combinators


@dataclass(frozen=True, slots=True)
class Operator:
    """An associative operator with its neutral element; ``comm``: it is commutative too.

    ``lam`` takes the left values, then the right values.
    """

    lam: Lambda
    neutral: tuple[Atom, ...]
    comm: bool = False

    @property
    def is_word(self) -> bool:
        """True if one atomic update can perform it: it combines scalars."""
        return len(self.lam.ret) == 1 and isinstance(self.lam.ret[0], Prim)

    @property
    def primitive(self) -> tuple[str, Prim] | None:
        """The primitive operation that the operator is; None for other operators.

        The operands may be in any order.
        """
        match self.lam.body:
            case Body((Stm((found,), PrimOp(name, prim, args)),), (result,)) if (
                    found.name == result and set(args) == {p.name for p in self.lam.params}):
                return name, prim
        return None

    @property
    def vector(self) -> Map | None:
        """The map that is the whole of the operator, if it is ``λ a b → map ⊕ a b``."""
        match self.lam.body:
            case Body((Stm(pat, Map() as inner),), result) if (
                    inner.arrays == tuple(p.name for p in self.lam.params)
                    and result == tuple(p.name for p in pat)):
                return inner
        return None


@dataclass(frozen=True, slots=True)
class Map:
    """``map lam arrays``: ``lam`` on the i-th elements, for every i < width."""

    width: Atom
    lam: Lambda
    arrays: tuple[VName, ...]


@dataclass(frozen=True, slots=True)
class Redomap:
    """``reduce ops (map lam arrays)``, and what else the map makes.

    ``lam`` returns the operands of all operators in order, then further values.  Results: what
    the operators reduce to, then arrays of the further values.  A plain reduce has an identity
    ``lam``.
    """

    width: Atom
    ops: tuple[Operator, ...]
    lam: Lambda
    arrays: tuple[VName, ...]


@dataclass(frozen=True, slots=True)
class Scanomap:
    """``scan ops (map lam arrays)``, inclusive; otherwise as :class:`Redomap`."""

    width: Atom
    ops: tuple[Operator, ...]
    lam: Lambda
    arrays: tuple[VName, ...]


@dataclass(frozen=True, slots=True)
class Dest:
    """An array that is written at ``rank`` indices per element; the rest is one value."""

    array: VName
    rank: int


@dataclass(frozen=True, slots=True)
class Scatter:
    """``lam`` on the i-th elements gives, per destination, its indices and a value to write.

    Results: the destinations after the writes (by value, as :class:`Update`).  Writes out of
    bounds are ignored; of several to the same place any one wins.
    """

    width: Atom
    lam: Lambda
    arrays: tuple[VName, ...]
    dests: tuple[Dest, ...]


@dataclass(frozen=True, slots=True)
class HistOp:
    """One histogram: ``dests`` (outer size ``bins``) combined with ``op``."""

    bins: Atom
    dests: tuple[VName, ...]
    op: Operator


@dataclass(frozen=True, slots=True)
class Hist:
    """``lam`` on the i-th elements gives, per operator, one i64 bin and its values.

    ``dest[bin] := op dest[bin] values`` in some order; bins out of range are ignored.
    Results: the destinations after that.
    """

    width: Atom
    ops: tuple[HistOp, ...]
    lam: Lambda
    arrays: tuple[VName, ...]


@dataclass(frozen=True, slots=True)
class Accumulate:
    """``lam`` on an accumulator and the i-th elements; results: the destinations after all writes.

    The first parameter of ``lam`` is the accumulator, a bool.  :class:`AccWrite` takes its value
    and gives the next one, which ``lam`` returns in the end: so writes keep their order, and none
    is lost.  The values mean nothing.  Without ``ops`` a write replaces an element of each
    destination, otherwise it combines it with the only operator.  Elements are in any order.
    """

    width: Atom
    dests: tuple[VName, ...]
    ops: tuple[Operator, ...]
    lam: Lambda
    arrays: tuple[VName, ...]


@dataclass(frozen=True, slots=True)
class AccWrite:
    """Write ``values`` at an index of the destinations of the accumulator that ``acc`` binds.

    A write out of bounds is ignored.  ``token`` is the accumulator's value; the result is the next.
    """

    acc: VName
    token: Atom
    index: Atom
    values: tuple[Atom, ...]


# Derivatives (before derivation)


@dataclass(frozen=True, slots=True)
class Jvp:
    """The Jacobian of ``lam`` at ``args``, times ``tangents``: forward mode.

    Results: what ``lam args`` gives, then a tangent of each.  A tangent has the type of its value.
    """

    lam: Lambda
    args: tuple[Atom, ...]
    tangents: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Vjp:
    """``seeds`` times the Jacobian of ``lam`` at ``args``: reverse mode.

    Results: what ``lam args`` gives, then an adjoint of each argument, which has its type.
    """

    lam: Lambda
    args: tuple[Atom, ...]
    seeds: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class WithVjp:
    """``lam args``, whose adjoint in reverse mode ``back`` computes.

    ``lam`` returns values that only ``back`` needs, then the results.  The parameters of ``back``
    are these values, then the adjoints of the ``results``.  It returns the adjoints of ``args``.
    """

    lam: Lambda
    back: Lambda
    args: tuple[Atom, ...]

    results: int

    @property
    def kept(self) -> int:
        """The number of values that only ``back`` needs."""
        return len(self.lam.ret) - self.results


# Segmented operations (versioned IR)


class Level(Enum):
    """The executor of the points of a segmented operation."""

    GRID = "grid"
    """One work-item per point, over the whole grid.  Stands at host level."""
    GROUP = "group"
    """One work-group per point; the body holds operations of level LOCAL.  At host level."""
    LOCAL = "local"
    """The work-items of the group that executes the enclosing body share the points."""


@dataclass(frozen=True, slots=True)
class SegDim:
    """One dimension of an index space: ``index`` runs from 0 to below its width.

    The width may differ between points if the dimension is the last of two.
    """

    index: VName
    extent: Atom | Ragged

    @property
    def width(self) -> Atom:
        """The width, which is alike at all points."""
        if isinstance(self.extent, Ragged):
            raise CompilerBug(f"the width of {self.index} differs between points")
        return self.extent

    @property
    def ragged(self) -> Ragged | None:
        """The lengths of segments, if the width differs between points."""
        return self.extent if isinstance(self.extent, Ragged) else None


Space: TypeAlias = tuple[SegDim, ...]
"""An index space, outermost dimension first.

Over a space with a ragged dimension, ``⟨i < n, j < len[i]⟩``, results for points are flat:
``[m]t``, where m is the sum of the lengths.  Reductions have the width of the first dimension.
"""


@dataclass(frozen=True, slots=True)
class LengthFacts:
    """Facts about ``lengths``, an ``[n]i64``: one for each of :class:`~runelift.ir.ragged.Fact`.

    A length below 0 counts as 0.  It stands at host level.
    """

    lengths: VName


@dataclass(frozen=True, slots=True)
class SlabSize:
    """The elements that a run of segments may have, an i64 above 0, if each takes so many bytes.

    The runtime says it, so that a run and a segment of ``longest`` elements fit into memory.  No
    result depends on it.  It stands at host level.
    """

    bytes: Atom
    longest: Atom


@dataclass(frozen=True, slots=True)
class SegmentLength:
    """The iterations of a segment between checkpoints, an i64 above 0, which no result depends on.

    The host takes the ``likely`` length, unless its parameter says another.
    """

    likely: Atom


@dataclass(frozen=True, slots=True)
class SegMap:
    """``body`` at every point of ``space``; results get the widths of the space in front."""

    level: Level
    space: Space
    body: Body
    ret: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class SegRed:
    """Per segment (all of ``space`` but its last dimension), reduce over the last dimension.

    ``body`` returns the operands of ``ops`` and then further values, of types ``ret``.  Results
    as :class:`Redomap`: reductions with the outer widths, further values with all widths.
    """

    level: Level
    space: Space
    ops: tuple[Operator, ...]
    body: Body
    ret: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class SegScan:
    """As :class:`SegRed`, with inclusive scans; all results have all widths.

    ``post`` is applied to the scanned values of each point, and may use its indices.  Its results
    then take the place of the scanned values.  ``backwards``: each segment is scanned from its last
    point to its first.  Spaces with either are not ragged.
    """

    level: Level
    space: Space
    ops: tuple[Operator, ...]
    body: Body
    ret: tuple[Type, ...]
    post: Lambda | None = None
    backwards: bool = False

    @property
    def stored(self) -> tuple[Type, ...]:
        """The types of the results at a point."""
        return self.ret if self.post is None else (
            *self.post.ret, *self.ret[len(self.post.params):])


@dataclass(frozen=True, slots=True)
class SegScatter:
    """As :class:`Scatter` over a space: per destination, ``rank`` indices and a value."""

    level: Level
    space: Space
    dests: tuple[Dest, ...]
    body: Body


@dataclass(frozen=True, slots=True)
class SegHist:
    """As :class:`Hist` per segment: destinations have the outer widths, then the bins."""

    level: Level
    space: Space
    ops: tuple[HistOp, ...]
    body: Body


@dataclass(frozen=True, slots=True)
class SegAccumulate:
    """As :class:`Accumulate` per segment: ``body`` returns the accumulator ``acc`` in the end.

    Destinations have the outer widths in front.
    """

    level: Level
    space: Space
    acc: VName
    dests: tuple[VName, ...]
    ops: tuple[Operator, ...]
    body: Body


# Versions


@dataclass(frozen=True, slots=True)
class Version:
    """One of several equivalent bodies, with its guard; the last has none.

    ``schedule`` are the points that made a rewritten version, one ``place point(parameters)`` each.
    """

    guard: Guard | None
    kind: Kind
    body: Body
    schedule: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Versions:
    """The first version whose guard holds (and which fits the device).

    All whose needs are met are equivalent.  Before flattening they are statements that schedules
    rewrite, and stand outside of lambdas.
    """

    site: str
    alternatives: tuple[Version, ...]
    ret: tuple[Type, ...]

    @property
    def by_schedules(self) -> bool:
        """True if schedules made them: they are alternative programs rather than mappings."""
        return any(version.kind is Kind.REWRITTEN for version in self.alternatives)


Derivative: TypeAlias = Jvp | Vjp | WithVjp
DERIVATIVES = (Jvp, Vjp, WithVjp)
Fold: TypeAlias = Redomap | Scanomap
Soac: TypeAlias = Map | Redomap | Scanomap | Scatter | Hist
SegOp: TypeAlias = SegMap | SegRed | SegScan | SegScatter | SegHist | SegAccumulate
SOACS = (Map, Redomap, Scanomap, Scatter, Hist)
SEGOPS = (SegMap, SegRed, SegScan, SegScatter, SegHist, SegAccumulate)
VIEWS = (Iota, Replicate, Index, Rearrange, Reshape, Slide, Pad)
"""Expressions whose arrays take no memory: what reads them reads or computes their elements."""
Exp: TypeAlias = (
    AtomExp | PrimOp | Convert | ArrayLit | Index | Update | Iota | Replicate | Concat
    | Rearrange | Reshape | Slide | Pad | Copy | Call | Assert | If | Loop | Recursion
    | Map | Redomap | Scanomap | Scatter | Hist | Accumulate | AccWrite | Jvp | Vjp | WithVjp
    | LengthFacts | SlabSize | SegmentLength | SegMap | SegRed | SegScan | SegScatter | SegHist
    | SegAccumulate | Versions
)
Node = TypeVar("Node")


def node_of(stm: Stm, kind: type[Node]) -> Node:
    """The expression of ``stm``, which is of a kind."""
    assert isinstance(stm.exp, kind)
    return stm.exp


def soac_of(stm: Stm) -> Soac:
    """The expression of ``stm``, which is a second-order array combinator."""
    assert isinstance(stm.exp, Soac)
    return stm.exp


@dataclass(frozen=True, slots=True)
class Fun:
    """An entry point: ``entry name params : results = body``.

    The first ``sizes`` of the parameters are sizes (i64) that the types of the arguments name; no
    caller passes them.  ``results`` names and types the values of ``body``.  A type may name an
    earlier result.  That is a size, which travels with the array and is not shown to the caller.
    """

    name: str
    params: tuple[Param, ...]
    results: tuple[Param, ...]
    body: Body
    sizes: int = 0


@dataclass(frozen=True, slots=True)
class Program:
    """A program: one function for each entry point."""

    funs: tuple[Fun, ...]
