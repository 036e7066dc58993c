"""Functions that call themselves: a recursion of the core for each application from outside.

The function of the core is of first order.  Its parameters are the sizes in the types of the
source's parameters, and the leaves of the arguments.  A function among the arguments is the same
one in all calls, so the body has it in its place.  Its results are the leaves of the result, each
behind the sizes that only the call knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from runelift.frontend.check.forms import base_name
from runelift.frontend.elaborate.arrays import Recurs
from runelift.frontend.elaborate.environment import inside
from runelift.frontend.elaborate.sizes import size_atom
from runelift.frontend.elaborate.sums import whole
from runelift.frontend.elaborate.values import (
    Accumulator,
    Dynamic,
    Env,
    Function,
    RecordValue,
    SumValue,
    TupleValue,
    TypeArg,
    Value,
    leaves,
    project,
    rebuild,
    shaped,
)
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.types import Array, Arrow, Record, Sum, Tuple, Type, TypeVar, payload
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.base.source import Span
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size
from runelift.ir.syntax import Call, LoopParam, Param, Recursion
from runelift.ir.types import Atom, array_of, elem_of, i64, shape_of

if TYPE_CHECKING:
    from runelift.frontend.elaborate.exps import Evaluator

Inlined = Callable[[Env], Value]
"""Makes the function as other functions are, in an environment that knows its name."""


def recursive_function(e: Evaluator, dec: ast.ValDec, env: Env, inlined: Inlined) -> Function:
    """The value of a declaration that names itself, in the environment before it."""
    count = len(dec.params)

    def made(given: Env) -> Function:
        return Function(count, lambda args, span: _Application(
            e, dec, env, given, span).outermost(args, inlined))

    return Function(count, made({}).run, (), made)


class _Sized(NamedTuple):
    """A leaf of a value, and the sizes that its type gives to the outer dimensions."""

    leaf: Dynamic
    sizes: tuple[Size, ...]


class _Application:
    """The application of a function from outside, and what all calls inside of it share."""

    def __init__(self, e: Evaluator, dec: ast.ValDec, env: Env, given: Env, span: Span) -> None:
        self.e, self.dec, self.env, self.given, self.span = e, dec, env, given, span
        assert dec.type is not None
        self.arrows, self.result = list[Arrow](), dec.type
        for _ in dec.params:
            assert isinstance(self.result, Arrow)
            self.arrows.append(self.result)
            self.result = self.result.codomain
        self.name = e.builder.names.fresh(dec.name.rpartition(".")[2])
        self.kept = list[tuple[Atom, ...]]()
        """The inner sizes of each leaf of the arguments, which all calls have."""
        self.accumulators = list[Accumulator]()

    def outermost(self, args: tuple[Value, ...], inlined: Inlined) -> Value:
        """The application: a recursion with the function's body inside."""
        builder, span = self.e.builder, self.span
        args = self._whole(args)
        self.accumulators = [arg for arg in args if isinstance(arg, Accumulator)]
        atoms, sizes = self._arguments(args, None, span)
        with builder.scope() as scope:
            scope.bound.add(self.name)
            params, values, own = self._parameters(args, atoms, sizes)
            inner = inside(self.env)
            inner[self.dec.name] = Function(len(self.arrows), self._call, (),
                                            lambda _: Function(len(self.arrows), self._call))
            function = inlined(inner)
            assert isinstance(function, Function)
            if function.instantiate is not None:
                made = function.instantiate({name: value for name, value in self.given.items()
                                             if isinstance(value, TypeArg)})
                assert isinstance(made, Function)
                function = made
            results = self._results(function.run(values, span), own)
        carried = tuple(map(LoopParam, params, atoms))
        pat, value = self._skeleton(self._named(args, sizes))
        builder.emit_stm(tuple(pat), Recursion(
            self.name, carried, builder.body(scope, tuple(results)),
            tuple(p.type for p in pat)), span)
        return value

    def _call(self, args: tuple[Value, ...], span: Span) -> Value:
        """A call of the function by itself."""
        args = self._whole(args)
        atoms, sizes = self._arguments(args, self.kept, span)
        pat, value = self._skeleton(self._named(args, sizes))
        self.e.builder.emit_stm(tuple(pat), Call(self.name, tuple(atoms),
                                                 tuple(p.type for p in pat)), span)
        return value

    def _whole(self, args: Sequence[Value]) -> tuple[Value, ...]:
        """The arguments with all payloads that their types have."""
        return tuple(whole(self.e, arg, arrow.domain, self.span)
                     for arg, arrow in zip(args, self.arrows, strict=True))

    # Arguments

    def _arguments(self, args: Sequence[Value], kept: list[tuple[Atom, ...]] | None, span: Span
                   ) -> tuple[list[Atom], dict[Size, Atom]]:
        """The atoms of a call: each size before the first array that has it, and the leaves.

        ``kept``: the inner sizes that the leaves must have; None for the outermost call.
        """
        atoms: list[Atom] = []
        sizes: dict[Size, Atom] = {}
        number = 0
        for arg, arrow in zip(args, self.arrows, strict=True):
            for leaf, named in _sized(arrow.domain, arg):
                shape = shape_of(leaf.type)
                front: list[Atom] = []
                for size, atom in zip(named, shape, strict=False):
                    known = self._known(size)
                    if known is None and size not in sizes:
                        sizes[size] = known = atom
                        atoms.append(atom)
                    front.append(sizes[size] if known is None else known)
                if kept is None:
                    self.kept.append(shape[len(front):])
                inner = shape[len(front):] if kept is None else kept[number]
                atoms.append(self._with_shape(leaf, (*front, *inner), span))
                number += 1
        return atoms, sizes

    def _known(self, size: Size) -> Atom | None:
        """A size that all calls have: a constant, or one from around the function."""
        return size_atom(self.e, size, self.env, self.span)

    def _with_shape(self, leaf: Dynamic, shape: tuple[Atom, ...], span: Span) -> Atom:
        return self.e.arrays.retype(leaf, shape, span).atom if shape else leaf.atom

    def _parameters(self, args: Sequence[Value], atoms: Sequence[Atom], sizes: Mapping[Size, Atom]
                    ) -> tuple[list[Param], tuple[Value, ...], dict[Size, Atom]]:
        """The parameters of the core, the arguments as the body has them, and its sizes."""
        params: list[Param] = []
        values: list[Value] = []
        own: dict[Size, Atom] = {}
        for arg, arrow, pattern in zip(args, self.arrows, self.dec.params, strict=True):
            parts: list[Dynamic] = []
            for leaf, named in _sized(arrow.domain, arg):
                shape = list(shape_of(leaf.type))
                for place, size in enumerate(named):
                    if size in sizes and size not in own:
                        base = size.variable.base if size.variable else "size"
                        params.append(self.e.builder.fresh(base, Prim.I64))
                        own[size] = params[-1].name
                    known = self._known(size)
                    shape[place] = own[size] if known is None else known
                params.append(self.e.builder.fresh(base_name(pattern), array_of(
                    tuple(shape), elem_of(leaf.type))))
                parts.append(Dynamic(params[-1].name, params[-1].type))
            values.append(rebuild(arg, iter(parts)))
        assert len(params) == len(atoms)
        return params, tuple(values), self._named(values, own)

    def _named(self, args: Sequence[Value], sizes: Mapping[Size, Atom]) -> dict[Size, Atom]:
        """The sizes that a call's result may have: of arrays, and arguments with a name."""
        return {**sizes, **{Size.var(arrow.param): arg.atom
                            for arg, arrow in zip(args, self.arrows, strict=True)
                            if arrow.param is not None and isinstance(arg, Dynamic)
                            and arg.type is Prim.I64}}

    # Results

    def _skeleton(self, sizes: Mapping[Size, Atom], made: list[Size | None] | None = None
                  ) -> tuple[list[Param], Value]:
        """A pattern for the results of a call, and the value that they are.

        ``made`` gets the size that a result is, or None for a leaf.
        """
        pat: list[Param] = []
        env = inside(self.env)
        env.update({size.variable: Dynamic(atom, Prim.I64) for size, atom in sizes.items()
                    if size.variable is not None})
        found = dict(sizes)
        kinds = [] if made is None else made

        def result(base: str, type_: Prim, shape: tuple[Atom, ...], size: Size | None) -> Dynamic:
            param = Param(self.e.builder.names.fresh(base), array_of(shape, type_))
            pat.append(param)
            kinds.append(size)
            return Dynamic(param.name, param.type)

        def length(around: Env, size: Size) -> Atom:
            if (known := found.get(size)) is None:
                known = size_atom(self.e, size, around, self.span)
            if known is None:
                known = result("size", Prim.I64, (), size).atom
            found[size] = known
            return known

        def scalar(prim: Prim, shape: tuple[Atom, ...]) -> Dynamic:
            return result("r", prim, shape, None)

        def other(part: TypeVar | Arrow, shape: tuple[Atom, ...]) -> Value:
            arg = self.given.get(part.name) if isinstance(part, TypeVar) else None
            if not isinstance(arg, TypeArg):
                raise CompilerLimitation(f"{self.span}: the type of a result of '{self.dec.name}', "
                                         "which calls itself, is not known here.")
            return shaped(arg.type, scalar, partial(length, arg.env), shape, other,
                          partial(self._accumulator, scalar))

        return pat, shaped(self.result, scalar, partial(length, env), (), other,
                           partial(self._accumulator, scalar))

    def _accumulator(self, made: Callable[[Prim, tuple[Atom, ...]], Dynamic]) -> Value:
        """The accumulator that a call returns, which is the only one among its arguments."""
        if len(self.accumulators) != 1:
            raise CompilerLimitation(f"{self.span}: '{self.dec.name}', which calls itself, needs "
                                     "one accumulator.")
        return rebuild(self.accumulators[0], (
            made(elem_of(leaf.type), shape_of(leaf.type))
            for leaf in leaves(self.accumulators[0])))

    def _results(self, value: Value, sizes: Mapping[Size, Atom]) -> list[Atom]:
        """The atoms of the body's results."""
        kinds: list[Size | None] = []
        pat, _ = self._skeleton(sizes, kinds)
        value = whole(self.e, value, self.result, self.span)
        rest = leaves(value)
        results: list[Atom] = []
        known: dict[Atom, Atom] = {}
        waiting: list[tuple[int, VName]] = []
        for param, kind in zip(pat, kinds, strict=True):
            if kind is not None:
                waiting.append((len(results), param.name))
                results.append(i64(0))
                continue
            leaf = next(rest)
            wanted = shape_of(param.type)
            for place, name in list(waiting):
                if name in wanted:
                    known[name] = results[place] = shape_of(leaf.type)[wanted.index(name)]
                    waiting.remove((place, name))
            shape = tuple(known.get(size, size) for size in wanted)
            results.append(self._with_shape(leaf, shape, self.span))
        return results


def _sized(type_: Type, value: Value, around: tuple[Size, ...] = ()) -> Iterator[_Sized]:
    """The leaves of a value in order, each with the sizes that its type gives to it."""
    match type_, value:
        case Array(size, elem), _:
            yield from _sized(elem, value, (*around, size))
        case Tuple(types), TupleValue(items):
            for item, part in zip(types, items, strict=True):
                yield from _sized(item, part, around)
        case Record(types), RecordValue():
            for label, item in types:
                yield from _sized(item, project(value, label), around)
        case Sum(types), SumValue(tag, payloads):
            yield _Sized(tag, around)
            for (_, item), (_, parts) in zip(types, payloads, strict=True):
                for inner, part in zip(payload(item), parts or (), strict=True):
                    yield from _sized(inner, part, around)
        case _, Accumulator(acc=VName()):
            raise Recurs("A function that calls itself cannot have accumulators as arguments.")
        case _:
            yield from (_Sized(leaf, around) for leaf in leaves(value))
