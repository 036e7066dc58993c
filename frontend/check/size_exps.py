"""Sizes as they are written: expressions in types, and size parameters."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from runelift.frontend.check import foreign
from runelift.frontend.check.base import Base, Binding, SizeMaker
from runelift.frontend.check.forms import whole_name
from runelift.frontend.check.restrictions import constructive_sizes
from runelift.frontend.check.structure import structure, with_names
from runelift.frontend.check.types import PRIMS, Expression, Own, Scheme, TypeReader
from runelift.frontend.syntax import ast
from runelift.frontend.syntax.nodes import walk
from runelift.frontend.syntax.types import MetaVar, Type
from runelift.ir.base.source import Span
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Applied, Size, applied, written

MOST_FACTORS = 64
"""The most factors of a polynomial that is followed; a larger one is an opaque size."""


class SizeExps(Base):
    """Reads types, and expressions as sizes."""

    def _type_params(self, params: tuple[ast.SizeParam | ast.TypeParam, ...]) -> tuple[
            list[VName], list[VName]]:
        types: list[VName] = []
        sizes: list[VName] = []
        self._all_different(params)
        for param in params:
            name = self.names.fresh(param.name)
            if isinstance(param, ast.SizeParam):
                sizes.append(name)
                self._bound.add(name)
                param.size = name
                self._bind_size(param.name, Size.var(name), param.span)
            else:
                types.append(name)
                self.scope.types[param.name] = name
                if param.kind == "^":
                    self.solved.lifted.add(name)
                elif param.kind == "~":
                    self.solved.size_lifted.add(name)
        return types, sizes

    def _all_different(self, params: Sequence[ast.SizeParam | ast.TypeParam]) -> None:
        for k, param in enumerate(params):
            if any(param.name == other.name and type(param) is type(other)
                   for other in params[:k]):
                raise self._error("duplicate-name", param.span,
                                  f"Duplicate: \"{param.name}\" was previously defined.")

    def _size_binders(self, sizes: tuple[ast.SizeParam, ...], pattern: ast.Pattern) -> None:
        """Bind the sizes of a ``let``, which the type of its pattern decides."""
        self._all_different(sizes)
        used = {node.name.name for node in walk(pattern) if isinstance(node, ast.Name)}
        for size in sizes:
            if size.name not in used:
                raise self._error("unused-size", size.span, f"Size [{size.name}] unused in the "
                                  "pattern.", f"Say which size it is: (xs: [{size.name}]t).")
            size.known = self.solved.size_meta(size.name)
            self._bind_size(size.name, size.known, size.span)
            self._binders.append(size)

    def _check_binders(self, sizes: tuple[ast.SizeParam, ...], pattern: Type) -> None:
        """Check that the value of a ``let`` has an array of each size that the ``let`` binds."""
        if sizes:
            constructive = constructive_sizes(self.solved.resolve(pattern))
        for size in sizes:
            assert size.known is not None
            if self.solved.size(size.known).variables() - constructive:
                raise self._error(
                    "unused-size", size.span, f"Size [{size.name}] is that of no array in the "
                    "value.", "A size that only a function takes or returns cannot be bound.")

    def _bind_size(self, name: str, size: Size, span: Span) -> None:
        self.scope.values[name] = Binding(Scheme(Prim.I64), size, span)

    def _collected(self, made: list[VName]) -> SizeMaker:
        """Makes sizes to be found, and notes them."""
        def make() -> Size:
            size = self.solved.size_meta()
            made.extend(size.variables())
            return size
        return make

    def _read(self, exp: ast.TypeExp, anonymous: SizeMaker | None = None) -> Type:
        make = anonymous or self.solved.size_meta
        reader = TypeReader(self.abbreviations, self.scope.types, self._size, make, self.names,
                            self.solved.lifted, self.broken)
        return reader.read(exp)

    def _size(self, exp: ast.Exp, bound: Mapping[str, Own]) -> Size:
        """A size expression in a type, which binds the names ``bound``: checked as an i64."""
        with self.inner_scope():
            for name, own in bound.items():
                self.scope.values[name] = Binding(Scheme(own.type), own.size, exp.span)
            return self._checked_size(exp)

    def _checked_size(self, exp: ast.Exp) -> Size:
        if isinstance(exp, ast.Name) and not exp.name.quals and not self._is_known(exp.name.name):
            raise self._error("unknown-name", exp.span, f"Unknown variable '{exp.name}'.",
                              foreign.size_parameter(str(exp.name), exp.span))
        self.expect(Prim.I64, self.infer(exp), exp.span, "a size")
        size = self._size_of(exp)
        if size is None:
            size = self.solved.unknown_size()
            exp.as_size = size.variable
        return size

    def _size_of(self, exp: ast.Exp) -> Size | None:
        """The polynomial that ``exp`` is, or else a fresh size for its structure.

        None if two expressions like this one may differ.
        """
        size = self._polynomial(exp)
        if size is not None and _is_large(size):
            size = None
        if size is not None or exp.type is None or self.solved.head(exp.type) is not Prim.I64:
            return size
        key = structure(exp, self._identity)
        if key is None:
            return None
        exp.as_size, _ = self._written.get(key) or (self.names.fresh("size"), exp)
        self._written[key] = exp.as_size, exp
        return Size.var(exp.as_size)

    def _sizes_outside(self) -> set[VName]:
        """The sizes of the names in scope, and of expressions over them."""
        sizes = [b.size for b in self.scope.values.values() if b.size is not None]
        found = {name for size in (*sizes, *self.scope.sizes.values()) for name in size.variables()}
        return found | self.scope.top_sizes | self._written_outside()

    def _written_outside(self) -> set[VName]:
        """The sizes that are expressions over names in scope."""
        return {name for key, (name, _) in self._written.items()
                if with_names(key, self._named_outside) is not None}

    def _named_outside(self, identity: Hashable) -> Hashable | None:
        """The structure of a name if it is in scope and bound to the same definition there."""
        name = identity[0] if isinstance(identity, tuple) else identity
        assert isinstance(name, ast.QualName)
        return ("name", identity) if self._identity(name) == identity else None

    def _over(self, key: Hashable, params: Mapping[Hashable, int]) -> Expression:
        """The expression of a structure; ``params`` are what identifies parameters, sizes -1."""
        used: list[int] = []

        def numbered(identity: Hashable) -> Hashable | None:
            if identity not in params:
                return self._named_outside(identity)
            used.append(params[identity])
            return "name", params[identity]

        known = with_names(key, numbered)
        if known is None:
            return -1, None
        return (0, None) if -1 in used else (max(used, default=0) + 1, known)

    def _numbered(self, params: Sequence[ast.Pattern]) -> dict[Hashable, int]:
        """The numbers of parameters in scope, by what identifies them."""
        return {self._identity(ast.QualName((), name)): k
                for k, name in enumerate(map(whole_name, params)) if name is not None}

    def _identity(self, name: ast.QualName) -> Hashable:
        binding = None if name.quals else self.scope.find(name.name)
        return name if binding is None else (name, binding)

    def _polynomial(self, exp: ast.Exp) -> Size | None:
        """The polynomial over names that ``exp`` is, with opaque factors for applications."""
        match exp:
            case ast.Literal(_, value) if isinstance(value, int) and not isinstance(value, bool):
                return Size.of(value)
            case ast.Name(_, name) if not name.quals:
                binding = self.scope.find(name.name)
                return binding.size if binding else None
            case ast.Ascript(_, value) | ast.AttrExp(_, _, value) | ast.AssertExp(_, _, value):
                return self._size_of(value)
            case ast.Negate(_, arg):
                inner = self._size_of(arg)
                return None if inner is None or not self._may_be_i64(exp) else inner * -1
            case ast.Apply(_, ast.Name(_, ast.QualName(("i64",), source) as name),
                           (ast.Name() as arg,)) if source in PRIMS:
                size = self._size_of(arg)
                return None if size is None else applied(str(name), size)
            case ast.Apply(_, ast.Name(_, name), args) if self._is_size_function(name, exp):
                sizes = [self._size_of(arg) for arg in args]
                known = tuple(size for size in sizes if size is not None)
                return applied(str(name), *known) if len(known) == len(sizes) else None
            case ast.BinExp(_, op, left, right):
                a, b = self._size_of(left), self._size_of(right)
                if a is None or b is None or not self._may_be_i64(exp):
                    return None
                return (written if str(op) in ("+", "-", "*") else applied)(str(op), a, b)
        return None

    def _may_be_i64(self, exp: ast.Exp) -> bool:
        """True if arithmetic is that of sizes, as far as is known."""
        head = self.solved.head(exp.type) if exp.type is not None else Prim.I64
        return head is Prim.I64 or isinstance(head, MetaVar)

    def _is_size_function(self, name: ast.QualName, exp: ast.Apply) -> bool:
        """True for a call of a function that the whole program knows under its name.

        That is a declaration, or one of the built-in functions on i64s.
        """
        binding = self.scope.find(name.name)
        known = name.quals == ("i64",) if name.quals else binding is not None and binding.top
        return known and exp.type is not None and all(
            each.type is not None and self.solved.head(each.type) is Prim.I64
            for each in (exp, *exp.args))


def _is_large(size: Size) -> bool:
    """True for a polynomial that would grow without bound where definitions double it."""
    if size.variable is not None:
        return False
    todo, count = [size], 0
    while todo:
        for monomial, coefficient in todo.pop().terms:
            count += len(monomial)
            if count > MOST_FACTORS or abs(coefficient) > Prim.I64.greatest:
                return True
            todo.extend(arg for factor in monomial if isinstance(factor, Applied)
                        for arg in factor.args)
    return False
