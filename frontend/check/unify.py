"""Unification of types and sizes.

Types are unified as usual; a type variable may be restricted to some primitive types.  Sizes
are polynomials: an equation between them is solved when it is linear in a flexible variable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from runelift.frontend.syntax import types as ty
from runelift.frontend.syntax.prelude import ACCUMULATOR
from runelift.ir.names import NAMELESS, Names, VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Applied, Factor, Size, written_alike


class TypeMismatch(Exception):
    """Two types cannot be made equal."""


class FunctionalType(TypeMismatch):
    """A type that must not be functional is."""


class ConsumingFunction(TypeMismatch):
    """A function consumes an argument that its context does not let it consume."""


class IrregularType(TypeMismatch):
    """A type has a size that differs with each argument, or that only values know."""


class InfiniteType(TypeMismatch):
    """A type would have to contain itself."""


class SizeMismatch(Exception):
    """Two sizes cannot be shown to be equal."""

    def __init__(self, left: Size, right: Size) -> None:
        super().__init__()
        self.left = left
        self.right = right


class SizeOfCall(SizeMismatch):
    """A size would have to depend on a call, by the name of a parameter out of scope."""


@dataclass(frozen=True, slots=True)
class Required:
    """A requirement on a type: constructors of a sum, or fields of a record."""

    kind: type[ty.Sum] | type[ty.Record]
    members: tuple[tuple[str, ty.Type], ...]


State: TypeAlias = tuple[dict[int, ty.Type], dict[VName, Size], dict[int, frozenset[Prim]],
                         dict[int, Required]]


@dataclass(slots=True)
class Substitution:
    """The types and sizes that inference has found so far."""

    names: Names
    types: dict[int, ty.Type] = field(default_factory=dict)
    sizes: dict[VName, Size] = field(default_factory=dict)
    allowed: dict[int, frozenset[Prim]] = field(default_factory=dict)
    flexible: set[VName] = field(default_factory=set)
    required: dict[int, Required] = field(default_factory=dict)
    """Parts that an undetermined type must have."""
    parameters: set[VName] = field(default_factory=set)
    """Flexible sizes ``[]`` of parameters: joining two types does not decide about them."""
    decided: set[VName] = field(default_factory=set)
    """Flexible sizes of functions: their callers decide about them."""
    unknown: set[VName] = field(default_factory=set)
    """Sizes that only the running program knows."""
    inner: set[VName] = field(default_factory=set)
    """Parameters of lambdas and local functions, and sizes that are computed from them."""
    values: set[int] = field(default_factory=set)
    """The types to be found that must not have functions inside."""
    lifted: set[VName] = field(default_factory=set)
    """The type parameters that may be functions."""
    functional: set[str] = field(default_factory=set)
    """The hidden types that may be functions."""
    changing: set[str] = field(default_factory=lambda: {ACCUMULATOR})
    """The hidden types whose values may differ in size."""
    size_lifted: set[VName] = field(default_factory=set)
    """The type parameters whose values may differ in size."""
    of_any_size: set[int] = field(default_factory=set)
    """The types to be found that may have other sizes each time."""
    of_arguments: set[int] = field(default_factory=set)
    """The ``of_any_size`` that are types of arguments: these have sizes which do not change."""
    compared: set[int] = field(default_factory=set)
    """The types to be found whose values are compared: they never become type parameters."""
    regular: set[int] = field(default_factory=set)
    """The types to be found whose values must not differ in size."""
    specified: bool = False
    """True while a member of a module is compared with what a module type says of it.

    Only then is a function that it takes given as the module type says, and not as it says itself.
    """
    _undecided: list[tuple[Size, Size]] = field(default_factory=list)
    _reordered: set[Size] = field(default_factory=set)
    """Sizes that are written in two ways: their operands decide nothing."""
    _unified: dict[tuple[int, int], tuple[ty.Type, ty.Type]] = field(default_factory=dict)
    """Compound types that the outermost call of :meth:`unify` has made equal, by identity.

    Types share parts, so the same two may meet at very many places.
    """
    _depth: int = 0
    _results: bool = False
    """True while results of functions are unified."""
    _next: int = 0

    def begin(self) -> None:
        """Begin to check another program: nothing is open, and it hides no type yet."""
        self._undecided = []
        self.functional, self.changing = set(), {ACCUMULATOR}

    def meta(self, allowed: tuple[Prim, ...] | None = None) -> ty.MetaVar:
        """A type to be found, perhaps one of ``allowed``."""
        self._next += 1
        if allowed is not None:
            self.allowed[self._next] = frozenset(allowed)
        return ty.MetaVar(self._next)

    def size_meta(self, base: str = NAMELESS) -> Size:
        """A fresh size that inference has yet to find."""
        name = self.names.fresh(base)
        self.flexible.add(name)
        return Size.var(name)

    def parameter_size(self) -> Size:
        """The size of a parameter that does not name it."""
        size = self.size_meta()
        self.parameters |= size.variables()
        return size

    def unknown_size(self, base: str = NAMELESS) -> Size:
        """A size that only the running program knows."""
        name = self.names.fresh(base)
        self.unknown.add(name)
        return Size.var(name)

    def is_open(self, size: VName) -> bool:
        """True for a size to be found about which nothing has been said, nor will callers."""
        return (size in self.flexible and size not in self.sizes and size not in self.decided
                and not any(size in side.variables() for sides in self._undecided
                            for side in sides))

    def snapshot(self) -> State:
        """The state, to be given to :meth:`restore`."""
        return dict(self.types), dict(self.sizes), dict(self.allowed), dict(self.required)

    def restore(self, state: State) -> None:
        """Discard the types and sizes that were found since ``state``."""
        self.types, self.sizes = dict(state[0]), dict(state[1])
        self.allowed, self.required = dict(state[2]), dict(state[3])

    def require(self, kind: type[ty.Sum] | type[ty.Record], name: str,
                member: ty.Type) -> ty.MetaVar:
        """A type to be found that has a constructor or a field."""
        meta = self.meta()
        self.required[meta.id] = Required(kind, ((name, member),))
        return meta

    def size(self, size: Size) -> Size:
        """``size`` with known sizes put in."""
        while not _is_constant(size) and (known := size.variables() & self.sizes.keys()):
            size = size.substitute(lambda v: self.sizes[v] if v in known else Size.var(v))
        return size

    def head(self, type_: ty.Type) -> ty.Type:
        """``type_`` with its outermost constructor, if that is known."""
        while isinstance(type_, ty.MetaVar) and type_.id in self.types:
            type_ = self.types[type_.id]
        return type_

    def resolve(self, type_: ty.Type) -> ty.Type:
        """``type_`` with all variables replaced that have known types and sizes."""
        if isinstance(type_, Prim):
            return type_
        head = self.head(type_)
        return head if self._is_resolved(head) else ty.sharing(self._resolved)(head)

    def _resolved(self, inner: Callable[[ty.Type], ty.Type], type_: ty.Type) -> ty.Type:
        type_ = self.head(type_)
        return type_ if self._is_resolved(type_) else ty.map_parts(inner, type_, self.size)

    def _is_resolved(self, type_: ty.Type) -> bool:
        facts = ty.facts(type_)
        return not facts.metas and self.sizes.keys().isdisjoint(facts.all_sizes)

    def unify(self, left: ty.Type, right: ty.Type) -> None:
        """Make two types equal; TypeMismatch or SizeMismatch if they are not.

        A function that consumes its argument does not do for one that must not (``left``).
        What a size-lifted type parameter stands for may have other sizes each time, if only
        functions return it.
        """
        self._depth += 1
        try:
            if isinstance(left, ty.MetaVar) and left.id in self.of_any_size and not self._results:
                self.of_arguments.add(left.id)
            if (meta := self._of_any_size(left)) is not None:
                self.types[meta.id] = self.join(left, right)
            else:
                self._unify_heads(left, right)
        finally:
            self._depth -= 1
            if not self._depth:
                self._unified.clear()

    def _of_any_size(self, type_: ty.Type) -> ty.MetaVar | None:
        """The variable that a type was before it was found, if its values may differ in size."""
        while isinstance(type_, ty.MetaVar) and type_.id in self.types:
            if type_.id in self.of_any_size and type_.id not in self.of_arguments:
                return type_
            type_ = self.types[type_.id]
        return None

    def _unify_heads(self, left: ty.Type, right: ty.Type) -> None:
        left, right = self.head(left), self.head(right)
        pair = id(left), id(right)
        if left is right or pair in self._unified:
            return
        match left, right:
            case ty.MetaVar(), _:
                self._bind(left, right)
            case _, ty.MetaVar():
                self._bind(right, left)
            case ty.Array(m, s), ty.Array(n, t):
                try:
                    self.unify(s, t)
                except SizeMismatch:  # the outer size may decide about the inner ones
                    self.unify_sizes(m, n)
                    self.unify(s, t)
                else:
                    self.unify_sizes(m, n)
            case ty.Tuple(xs), ty.Tuple(ys) if len(xs) == len(ys):
                for x, y in zip(xs, ys, strict=True):
                    self.unify(x, y)
            case (ty.Record(xs), ty.Record(ys)) | (ty.Sum(xs), ty.Sum(ys)) if _same_names(xs, ys):
                for (_, x), (_, y) in zip(xs, ys, strict=True):
                    self.unify(x, y)
            case ty.Arrow(a, _, wanted), ty.Arrow(c, _, consumes):
                if consumes and not wanted:
                    raise ConsumingFunction
                around, self._results = self._results, False
                try:
                    self.unify(*((c, a) if self.specified else (a, c)))
                    self._results = True
                    self._unify_results(left, right)
                finally:
                    self._results = around
            case _:
                if left != right:
                    raise TypeMismatch
        self._unified[pair] = left, right

    def _unify_results(self, wanted: ty.Arrow, given: ty.Arrow) -> None:
        """Make the results of two functions equal, the second of which is given as the first.

        What each call computes anew, or has as its argument, is no size around the functions.  The
        result of a lambda may be as large as its argument says.  As in Futhark, the type then names
        the argument, or lets each call compute the size.
        """
        b, d = wanted.codomain, self.resolve(given.codomain)
        open_ = ty.sizes_in(d) & self.flexible
        if wanted.param and given.param and wanted.param != given.param:
            d = ty.substitute_size(d, given.param, Size.var(wanted.param))
        regular = [meta for meta in ty.metas(self.resolve(b)) | ty.metas(d)
                   if meta.id in self.regular]
        around = ty.sizes_in(self._of_fixed_size(b)) - wanted.exists - {wanted.param}
        made = {name: self.unknown_size(name.base) for name in given.exists}
        changing = {wanted.param, given.param}.union(*(size.variables() for size in made.values()))
        fresh = {name: self.size_meta(name.base) for name in wanted.exists}
        if fresh:
            b = ty.replace_names(self.resolve(b), {}, fresh)
        self.unify(b, ty.replace_names(d, {}, made))
        if any(changing & ty.sizes_in(self.resolve(meta)) for meta in regular) or any(
                changing & self.size(Size.var(name)).variables() for name in around):
            raise IrregularType
        anew = set().union(*(self.size(size).variables() for size in fresh.values()))
        own = {each for each in self.own_sizes(given)
               if not made.get(each, Size.var(each)).variables() <= anew}
        if wanted.param is None and own:
            raise SizeOfCall(self.unknown_size(), Size.var(min(own)))
        for name in sorted(open_):
            if wanted.param in (size := self.size(Size.var(name))).variables():
                raise SizeOfCall(size, Size.var(name))

    def own_sizes(self, function: ty.Arrow) -> set[VName]:
        """The sizes of a function's result that are its argument, or computed from it.

        Only lambdas and local functions have such sizes; other functions forget what they are.
        """
        found: set[VName] = set()

        def size(each: Size) -> Size:
            names = each.variables()
            if not names & (function.exists - self.inner):  # else it is unknown as a whole
                found.update(names & {function.param, *function.exists} & self.inner)
            return each
        ty.map_sizes(size, self.resolve(function.codomain))
        return found

    def _of_fixed_size(self, type_: ty.Type) -> ty.Type:
        """A type but for those parts that may have other sizes each time."""
        def fixed(inner: Callable[[ty.Type], ty.Type], part: ty.Type) -> ty.Type:
            if self._of_any_size(part) is not None:
                return ty.UNIT
            return ty.map_parts(inner, self.head(part), self.size)

        return ty.sharing(fixed)(type_)

    def _bind(self, meta: ty.MetaVar, type_: ty.Type) -> None:
        if meta == type_:
            return
        allowed = self.allowed.get(meta.id)
        if isinstance(type_, ty.MetaVar):
            if allowed is not None:
                both = allowed & self.allowed.get(type_.id, allowed)
                if not both:
                    raise TypeMismatch
                self.allowed[type_.id] = both
        elif allowed is not None and type_ not in allowed:
            raise TypeMismatch
        if meta in ty.metas(self.resolve(type_)):
            raise InfiniteType
        if meta.id in self.values:
            self.no_function(type_)
        if meta.id in self.compared:
            self.compared |= {part.id for part in ty.metas(self.resolve(type_))}
        if meta.id in self.regular:
            if (isinstance(type_, ty.TypeVar) and type_.name in self.size_lifted) or (
                    isinstance(type_, ty.Abstract) and type_.name in self.changing):
                raise IrregularType
            if isinstance(type_, ty.MetaVar):
                self.regular.add(type_.id)
        self.types[meta.id] = type_
        if (required := self.required.get(meta.id)) is not None:
            self._meet(required, type_)

    def _meet(self, required: Required, type_: ty.Type) -> None:
        """Require the parts of ``required`` of a type without requirements or of a known form."""
        type_ = self.head(type_)
        if isinstance(type_, ty.MetaVar):
            if type_.id in self.allowed:
                raise TypeMismatch
            other = self.required.get(type_.id, required)
            if other.kind is not required.kind:
                raise TypeMismatch
            known = dict(other.members)
            merged = {**dict(required.members), **known}
            self.required[type_.id] = Required(required.kind, tuple(sorted(
                merged.items(), key=lambda member: member[0])))
        else:
            known = _members(type_, required.kind)
        for name, member in required.members:
            if name in known:
                self.unify(known[name], member)
            elif not isinstance(type_, ty.MetaVar):
                raise TypeMismatch

    def unify_sizes(self, left: Size, right: Size) -> None:
        """Make two sizes equal by solving for a flexible variable; else SizeMismatch."""
        left, right = self.size(left), self.size(right)
        difference = left - right
        if not difference.terms:
            if not written_alike(left, right):
                self._reordered.add(left)
            return
        if self._as_written(left, right):
            return
        if left.variable in right.variables() or right.variable in left.variables():
            raise SizeMismatch(left, right)  # n = n + m does not define m as 0
        for monomial, coefficient in sorted(difference.terms, key=lambda term: (
                not self.parameters.isdisjoint(term[0]),
                Size(((term[0], 1),)) not in (left, right))):  # names before sums
            rest = [c for m, c in difference.terms if m != monomial]
            if len(monomial) == 1 and all(c % coefficient == 0 for c in rest):
                (name,) = monomial
                if isinstance(name, VName) and name in self.flexible:
                    value = Size(tuple((m, -c // coefficient) for m, c in difference.terms
                                       if m != monomial))
                    both = left.variables() & right.variables()  # nor does n = n + n define n
                    if name not in value.variables() | both and (
                            Size.var(name) in (left, right) or (_never_negative(value) and not (
                                _is_constant(left) or _is_constant(right)))):  # nor n + 1 = 3
                        self.sizes[name] = next((s for s in (left, right) if s == value), value)
                        return
        match difference.terms:
            case (((Applied(op, xs),), (1 | -1) as sign), ((Applied(other, ys),), minus)) if (
                    op == other and sign == -minus):
                try:
                    for x, y in zip(xs, ys, strict=True):
                        self.unify_sizes(x, y)
                except SizeMismatch:  # unlike operands may have one quotient
                    raise SizeMismatch(left, right) from None
                return
        if any(sum(factor in self.flexible for factor in monomial) > 1
               for monomial, _ in difference.terms):
            self._undecided.append((left, right))
            return  # n*m = k fixes neither n nor m; the running program checks it
        raise SizeMismatch(left, right)

    def _as_written(self, left: Size, right: Size) -> bool:
        """Make the operands of two sizes equal that are written with the same operator.

        That decides about sizes which an equation of polynomials would leave open.
        """
        if left.written is None or right.written is None or left in self._reordered or (
                right in self._reordered):
            return False
        (op, *these), (other, *those) = left.written, right.written
        if op != other:
            return False
        before = dict(self.sizes)
        try:
            for x, y in zip(these, those, strict=True):
                self.unify_sizes(x, y)
        except SizeMismatch:
            self.sizes = before
            return False
        return True

    def divide(self) -> None:
        """Solve ``a*n = k`` where all but one factor have been found since it was said."""
        undecided, self._undecided = self._undecided, []
        for left, right in undecided:
            left, right = self.size(left), self.size(right)
            if left != right and not self._divide(left, right) and not self._divide(right, left):
                self._undecided.append((left, right))

    def _divide(self, left: Size, right: Size) -> bool:
        """Solve ``a*n = k`` for the one flexible factor."""
        match left.terms:
            case ((monomial, 1),):
                free = [f for f in monomial if isinstance(f, VName) and f in self.flexible]
                rest = list(monomial)
                if len(free) == 1:
                    rest.remove(free[0])
                    quotient = _without(right, rest)
                    if quotient is not None and free[0] not in quotient.variables():
                        self.sizes[free[0]] = quotient
                        return True
        return False

    def no_function(self, type_: ty.Type) -> None:
        """Forbid functions in a type; FunctionalType if there is one."""
        for part in ty.parts(type_, lambda part: not isinstance(part, ty.Arrow), self.head):
            match part:
                case ty.MetaVar(number):
                    self.values.add(number)
                case ty.Arrow():
                    raise FunctionalType
                case ty.TypeVar(name) if name in self.lifted:
                    raise FunctionalType
                case ty.Abstract() if part.name in self.functional:
                    raise FunctionalType

    def join(self, left: ty.Type, right: ty.Type,
             joined: dict[tuple[Size, Size], Size] | None = None) -> ty.Type:
        """The type of a value of either type: sizes that differ become unknown.

        Where the same two differ again, that is the same unknown size (``joined``).
        """
        known: dict[tuple[Size, Size], Size] = {} if joined is None else joined
        left, right = self.head(left), self.head(right)
        match left, right:
            case ty.Array(m, s), ty.Array(n, t):
                elem = self.join(s, t, known)
                m, n = self.size(m), self.size(n)
                if m != n and (m.variables() | n.variables()) & self.parameters:
                    return ty.Array(known.setdefault((m, n), self.unknown_size()), elem)
                try:
                    self.unify_sizes(m, n)
                    return ty.Array(m, elem)
                except SizeMismatch:
                    return ty.Array(known.setdefault((m, n), self.unknown_size()), elem)
            case ty.Tuple(xs), ty.Tuple(ys) if len(xs) == len(ys):
                return ty.Tuple(tuple(self.join(x, y, known) for x, y in zip(xs, ys, strict=True)))
            case (ty.Record(xs), ty.Record(ys)) | (ty.Sum(xs), ty.Sum(ys)) if _same_names(xs, ys):
                make = type(left) if isinstance(left, ty.Record | ty.Sum) else ty.Sum
                return make(tuple((name, self.join(x, y, known))
                                  for (name, x), (_, y) in zip(xs, ys, strict=True)))
        self.unify(left, right)
        return left


def _is_constant(size: Size) -> bool:
    return not size.terms or (size.terms[0][0] == () and len(size.terms) == 1)


def _never_negative(size: Size) -> bool:
    """True if a size cannot be negative for any sizes in it: unlike k of k + 1 = n."""
    return all(coefficient > 0 for _, coefficient in size.terms)


def _without(size: Size, factors: list[Factor]) -> Size | None:
    """``size`` divided by a product of factors; None if that is not a size."""
    total = Size(())
    for monomial, coefficient in size.terms:
        rest = list(monomial)
        for factor in factors:
            if factor not in rest:
                return None
            rest.remove(factor)
        total = total + Size(((tuple(rest), coefficient),))
    return total


def _same_names(left: tuple[tuple[str, ty.Type], ...],
                right: tuple[tuple[str, ty.Type], ...]) -> bool:
    return [name for name, _ in left] == [name for name, _ in right]


def _members(type_: ty.Type, kind: type[ty.Sum] | type[ty.Record]) -> dict[str, ty.Type]:
    """The constructors or fields of a type; the fields of a tuple are numbers."""
    match type_:
        case ty.Record(fields) | ty.Sum(fields) if isinstance(type_, kind):
            return dict(fields)
        case ty.Tuple(items) if kind is ty.Record:
            return {str(k): item for k, item in enumerate(items)}
    raise TypeMismatch
