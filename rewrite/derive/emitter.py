"""Statements under construction, with the types of all names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from runelift.ir import syntax as ir
from runelift.ir.base.source import Loc
from runelift.ir.names import Names, VName
from runelift.ir.partials import Partial
from runelift.ir.prim import OPS, Prim
from runelift.ir.traverse import Mapper, lambdas_of, map_stm, statements_inside
from runelift.ir.types import (
    TRUE,
    Atom,
    Const,
    Type,
    array_of,
    elem_of,
    i64,
    row_of,
    shape_of,
    zero,
)
from runelift.rewrite.engine.scope import whole


class Emitter:
    """Appends statements to the innermost open block."""

    def __init__(self, names: Names, types: dict[VName, Type]) -> None:
        self.names = names
        self.types = types
        self.stms: list[ir.Stm] = []
        self.loc: Loc | None = None
        self.attrs: tuple[str, ...] = ()

    # Names

    def type(self, atom: Atom) -> Type:
        """The type of an atom."""
        return atom.prim if isinstance(atom, Const) else self.types[atom]

    def fresh(self, base: str | VName, type_: Type) -> ir.Param:
        """A parameter with a name that occurs nowhere else."""
        param = ir.Param(self.names.fresh(base), type_)
        self.types[param.name] = type_
        return param

    def like(self, params: Iterable[ir.Param], suffix: str = "") -> tuple[ir.Param, ...]:
        """Fresh parameters of the types of ``params``, with a suffix to their names."""
        return tuple(self.fresh(p.name.base + suffix, p.type) for p in params)

    def learn(self, lam: ir.Lambda) -> None:
        """Learn the types of the names that a lambda binds."""
        def bind(params: Iterable[ir.Param]) -> None:
            self.types.update((p.name, p.type) for p in params)

        bind(lam.params)
        for stm in statements_inside((lam.body,)):
            bind(stm.pat)
            for inner in lambdas_of(stm.exp):
                bind(inner.params)
            if isinstance(stm.exp, ir.Loop):
                bind(p.param for p in stm.exp.params)
                if isinstance(stm.exp.form, ir.ForLoop):
                    self.types[stm.exp.form.index] = Prim.I64

    def copied(self, lam: ir.Lambda, bound: Callable[[VName, VName], None] | None = None,
               *, asserts: bool = True) -> ir.Lambda:
        """A lambda with fresh names; ``bound`` is told of each old name and its new one."""
        renamed: dict[VName, VName] = {}

        def bind(name: VName) -> VName:
            renamed[name] = self.names.fresh(name)
            if bound is not None:
                bound(name, renamed[name])
            return renamed[name]

        def body(found: ir.Body) -> ir.Body:
            stms = tuple(map_stm(mapper, stm) for stm in found.stms
                         if asserts or not isinstance(stm.exp, ir.Assert))
            return ir.Body(stms, mapper.atoms(found.result))

        def inner(found: ir.Lambda) -> ir.Lambda:
            names = [bind(p.name) for p in found.params]
            params = tuple(map(mapper.typed, names, found.params))
            return ir.Lambda(params, body(found.body), mapper.types(found.ret))

        mapper = Mapper(lambda a: renamed.get(a, a) if isinstance(a, VName) else a, bind, body,
                        inner)
        copy = inner(lam)
        self.learn(copy)
        return copy

    def again(self, op: ir.Operator) -> ir.Operator:
        """An operator with fresh names."""
        return replace(op, lam=self.copied(op.lam))

    # Statements

    def add(self, stm: ir.Stm) -> None:
        """Append a statement."""
        self.types.update((p.name, p.type) for p in stm.pat)
        self.stms.append(stm)

    def bind(self, exp: ir.Exp, types: Iterable[Type], base: str = "t") -> tuple[VName, ...]:
        """The names of the results of an expression."""
        pat = tuple(self.fresh(base, type_) for type_ in types)
        self.stms.append(ir.Stm(pat, exp, self.attrs if not isinstance(exp, ir.PrimOp) else (),
                                self.loc))
        return tuple(p.name for p in pat)

    def one(self, exp: ir.Exp, type_: Type, base: str = "t") -> VName:
        """The name of the only result of an expression."""
        return self.bind(exp, (type_,), base)[0]

    def let(self, params: Sequence[ir.Param], atoms: Sequence[Atom]) -> None:
        """Bind parameters to atoms."""
        for param, atom in zip(params, atoms, strict=True):
            self.add(ir.Stm((param,), ir.AtomExp(atom), (), self.loc))

    def inline(self, lam: ir.Lambda, args: Sequence[Atom]) -> tuple[Atom, ...]:
        """The results of a fresh copy of a lambda."""
        copy = self.copied(lam)
        self.let(copy.params, args)
        for stm in copy.body.stms:
            self.add(stm)
        return copy.body.result

    @contextmanager
    def block(self, stms: list[ir.Stm] | None = None) -> Iterator[list[ir.Stm]]:
        """A new block, to which statements are appended meanwhile."""
        outer, self.stms = self.stms, [] if stms is None else stms
        try:
            yield self.stms
        finally:
            self.stms = outer

    # Scalars

    def op(self, name: str, prim: Prim, *args: Atom) -> Atom:
        """The value of a primitive operation."""
        match name, args:
            case ("add" | "sub", (x, Const(0))) if prim.is_int:
                return x
            case ("add", (Const(0), x)) if prim.is_int:
                return x
            case ("mul", (x, Const(1)) | (Const(1), x)):
                return x
        return self.one(ir.PrimOp(name, prim, args), OPS[name].result(prim))

    def size_op(self, name: str, *args: Atom) -> Atom:
        """The value of an operation on i64s."""
        return self.op(name, Prim.I64, *args)

    def length(self, count: Atom) -> Atom:
        """A count as the length of an array: itself, if it is known not to be negative."""
        known = count.value >= 0 if isinstance(count, Const) else any(
            count in shape_of(type_) for type_ in self.types.values())
        return count if known else self.size_op("max", i64(0), count)

    def scaled(self, partial: Partial[Atom], tangent: Atom) -> Atom:
        """A tangent, or an adjoint, after a partial derivative."""
        prim = elem_of(self.type(tangent))

        def product() -> Atom:
            value = tangent
            if partial.factor is not None:
                name = "and" if prim is Prim.BOOL else "mul"
                value = self.op(name, prim, partial.factor, value)
            if partial.divisor is not None:
                value = self.op("div", prim, value, partial.divisor)
            return self.op("neg", prim, value) if partial.negated else value

        if partial.when is None:
            return product()
        return self.choice(partial.when, lambda: (product(),), lambda: (zero(prim),))[0]

    # Choices and loops

    def choice(self, cond: Atom, then: Callable[[], Sequence[Atom]],
               otherwise: Callable[[], Sequence[Atom]]) -> tuple[VName, ...]:
        """``if cond then ... else ...``."""
        with self.block() as yes:
            left = tuple(then())
        with self.block() as no:
            right = tuple(otherwise())
        types = tuple(map(self.type, left))
        return self.bind(ir.If(cond, ir.Body(tuple(yes), left), ir.Body(tuple(no), right), types),
                         types)

    def select(self, cond: Atom, then: Atom, otherwise: Atom) -> VName:
        """``if cond then ... else ...`` for two atoms."""
        return self.choice(cond, lambda: (then,), lambda: (otherwise,))[0]

    def inside(self, places: Sequence[Atom], sizes: Sequence[Atom]) -> Atom:
        """True if places are in bounds."""
        total: Atom = TRUE
        for place, size in zip(places, sizes, strict=False):
            low = self.size_op("le", i64(0), place)
            high = self.size_op("lt", place, size)
            both = self.op("and", Prim.BOOL, low, high)
            total = both if total == TRUE else self.op("and", Prim.BOOL, total, both)
        return total

    def lam(self, types: Sequence[Type], f: Callable[..., Sequence[Atom]],
            base: str = "x") -> ir.Lambda:
        """A lambda, by a function of the names of its parameters."""
        params = tuple(self.fresh(base, type_) for type_ in types)
        with self.block() as stms:
            result = tuple(f(*(p.name for p in params)))
        return ir.Lambda(params, ir.Body(tuple(stms), result), tuple(map(self.type, result)))

    def identity(self, types: Sequence[Type]) -> ir.Lambda:
        """The lambda that returns its parameters."""
        return self.lam(types, lambda *names: names)

    def same(self, arrays: Iterable[VName]) -> ir.Lambda:
        """The lambda that returns the elements of arrays."""
        return self.identity([row_of(self.types[a]) for a in arrays])

    def map(self, arrays: Sequence[VName], f: Callable[..., Sequence[Atom]], base: str = "ys",
            width: Atom | None = None) -> tuple[VName, ...]:
        """``map f arrays``, by a function of the names of the elements."""
        width = shape_of(self.types[arrays[0]])[0] if width is None else width
        lam = self.lam([row_of(self.types[a]) for a in arrays], f)
        types = [array_of((width,), type_) for type_ in lam.ret]
        return self.bind(ir.Map(width, lam, tuple(arrays)), types, base)

    # Arrays

    def name(self, atom: Atom) -> VName:
        """A name for an atom."""
        return atom if isinstance(atom, VName) else self.one(ir.AtomExp(atom), atom.prim)

    def zeros(self, type_: Type) -> Atom:
        """Zero of a type."""
        if isinstance(type_, Prim):
            return zero(type_)
        return self.one(ir.Replicate(shape_of(type_), zero(elem_of(type_))), type_, "zeros")

    def or_zeros(self, atom: Atom | None, type_: Type) -> Atom:
        """An atom, or zero of a type if there is none."""
        return self.zeros(type_) if atom is None else atom

    def elementwise(self, f: Callable[..., Atom], *atoms: Atom) -> Atom:
        """``f`` of the scalars of arrays of one shape."""
        if not shape_of(self.type(atoms[0])):
            return f(*atoms)
        return self.map([self.name(a) for a in atoms],
                        lambda *rows: (self.elementwise(f, *rows),), "sum")[0]

    def plus(self, left: Atom, right: Atom) -> Atom:
        """The sum of two tangents."""
        prim = elem_of(self.type(left))
        name = "or" if prim is Prim.BOOL else "add"
        return self.elementwise(lambda x, y: self.op(name, prim, x, y), left, right)

    def dims(self, array: VName, places: Sequence[ir.Dim]) -> tuple[ir.Dim, ...]:
        """Places of the first dimensions of an array, and all of each further dimension."""
        shape = shape_of(self.types[array])
        return (*places, *(whole(size) for size in shape[len(places):]))

    def index(self, array: VName, *places: ir.Dim, checked: bool = False) -> VName:
        """``array[places]``."""
        dims = self.dims(array, places)
        kept = tuple(d.count for d in dims if isinstance(d, ir.SliceDim))
        type_ = array_of(kept, elem_of(self.types[array]))
        return self.one(ir.Index(array, dims, checked), type_, "x")

    def update(self, array: VName, places: Sequence[ir.Dim], value: Atom, *,
               checked: bool = False) -> VName:
        """``array with [places] <- value``."""
        node = ir.Update(array, self.dims(array, places), value, checked)
        return self.one(node, self.types[array], "xs")

    def counting(self, count: Atom) -> VName:
        """``iota count``."""
        return self.one(ir.Iota(count, i64(0), i64(1), Prim.I64), array_of((count,), Prim.I64),
                        "is")

    def reversed(self, array: VName) -> VName:
        """The array from its end to its start."""
        size = shape_of(self.types[array])[0]
        last = self.size_op("sub", size, i64(1))
        return self.index(array, ir.SliceDim(last, size, i64(-1)))

    def rearranged(self, array: VName, perm: Sequence[int]) -> VName:
        """The array with its first dimensions in another order."""
        shape = shape_of(self.types[array])
        full = (*perm, *range(len(perm), len(shape)))
        type_ = array_of(tuple(shape[k] for k in full), elem_of(self.types[array]))
        return self.one(ir.Rearrange(full, array), type_, "ts")

    def reshaped(self, array: VName, shape: tuple[Atom, ...]) -> VName:
        """The array with another shape of as many elements."""
        if shape == shape_of(self.types[array]):
            return array
        return self.one(ir.Reshape(shape, array), array_of(shape, elem_of(self.types[array])), "fs")

    def product(self, sizes: Iterable[Atom]) -> Atom:
        """The product of sizes."""
        total: Atom = i64(1)
        for size in sizes:
            total = self.size_op("mul", total, size)
        return total

    def flattened(self, array: VName, rank: int) -> VName:
        """The array with its first ``rank`` dimensions as one."""
        shape = shape_of(self.types[array])
        return self.reshaped(array, (self.product(shape[:rank]), *shape[rank:]))

    # Reductions

    def addition(self, type_: Type) -> ir.Operator:
        """The operator ``+`` on values of a type."""
        lam = self.lam([type_, type_], lambda x, y: (self.plus(x, y),))
        return ir.Operator(ir.Lambda(lam.params, lam.body, (type_,)), (self.zeros(type_),), True)

    def fold(self, name: str, prim: Prim, array: VName, neutral: Atom) -> Atom:
        """``reduce name neutral array`` for an operation on scalars."""
        lam = self.lam([prim, prim], lambda x, y: (self.op(name, prim, x, y),))
        op = ir.Operator(lam, (neutral,), OPS[name].commutative)
        width = shape_of(self.types[array])[0]
        return self.one(ir.Redomap(width, (op,), self.identity([prim]), (array,)), prim, "r")

    def summed(self, array: VName, rank: int = 1) -> Atom:
        """The sum over the first ``rank`` dimensions of an array."""
        flat = self.flattened(array, rank)
        row = row_of(self.types[flat])
        width = shape_of(self.types[flat])[0]
        op = self.addition(row)
        return self.one(ir.Redomap(width, (op,), self.identity([row]), (flat,)), row, "sum")


class Atoms:
    """The algebra of statements, at a primitive type."""

    def __init__(self, emit: Emitter, prim: Prim) -> None:
        self.emit = emit
        self.prim = prim

    def op(self, name: str, *args: Atom) -> Atom:
        """A primitive operation at the type."""
        return self.emit.op(name, self.prim, *args)

    def const(self, value: float) -> Atom:
        """A constant of the type."""
        return Const(self.prim.nearest(value) if self.prim.is_float else int(value), self.prim)

    def either(self, left: Atom, right: Atom) -> Atom:
        """True if one of two conditions holds."""
        return self.emit.op("or", Prim.BOOL, left, right)
