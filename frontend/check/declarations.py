"""Declarations: the schemes of functions and constants, and what entry points may be."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence

from runelift.frontend.check import foreign
from runelift.frontend.check.aliases import Origin, holds_arrays, with_unique_result
from runelift.frontend.check.base import Binding, SizeMaker
from runelift.frontend.check.causality import check_causality
from runelift.frontend.check.exhaustive import uncovered
from runelift.frontend.check.forms import (
    base_name,
    first_order,
    has_accumulator,
    has_function,
    tail,
)
from runelift.frontend.check.memory import Checked, Meaning, Memory, names_in, take_types
from runelift.frontend.check.recursive_calls import recursive_calls
from runelift.frontend.check.restrictions import (
    computed_sizes,
    constructive_sizes,
    inner_sizes,
    later_sizes,
    less_unique,
    plain_sizes,
    sizes_of_inner_names,
    unknown_parameters,
    unused_sizes,
)
from runelift.frontend.check.settling import Settling
from runelift.frontend.check.stars import unique_parts, unique_pattern
from runelift.frontend.check.types import PRIMS, Abbreviation, Scheme, accumulator, changing
from runelift.frontend.check.undecided import undecided_sizes
from runelift.frontend.check.unify import FunctionalType
from runelift.frontend.check.uniqueness import check_uniqueness
from runelift.frontend.syntax import ast
from runelift.frontend.syntax import types as ty
from runelift.frontend.syntax.nodes import walk
from runelift.frontend.syntax.prelude import ACCUMULATOR
from runelift.ir.base.errors import Diagnostic, Label, ProgramError, Replacement, in_order
from runelift.ir.names import NAMELESS, VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size

_BINDERS = ast.PatName | ast.LetFun | ast.LetWith | ast.SizeParam


def check_module(module: ast.Flat, memory: Memory | None = None) -> None:
    """Check ``module`` and fill in the types of its nodes; ProgramError with what is wrong.

    ``memory`` holds what an earlier check of nearly the same program found.
    """
    checker = Checker(frozenset(module.entry_points))
    checker.errors, checker.broken = [*module.errors], {*module.broken}
    known = {} if memory is None else checker.remember(memory)
    checker.later = {dec.name: dec for dec in module.decs if isinstance(dec, ast.ValDec)}
    for dec in module.decs:
        checker.later.pop(dec.name, None)
        if (before := known.get(dec.name)) is not None and checker.knows(dec, before):
            continue
        try:
            checker.declaration(dec)
        except ProgramError as error:
            said = isinstance(dec, ast.ValDec) and dec.sealed and checker.errors
            checker.errors += () if said else in_comment(error) or (
                *error.diagnostics, *checker.further_unknown(dec, error))
            checker.broken.add(dec.name)  # avoids errors that follow from this one
    if checker.errors:  # a parametric module may be wrong each time that it is applied
        first = {(error.code, error.span): error for error in reversed(checker.errors)}
        raise ProgramError(*in_order(first.values(), module.span.source))


def in_comment(error: ProgramError) -> tuple[Diagnostic, ...]:
    """The error about a comment that is written as in another language; none if it is no such."""
    place = None
    if error.span is not None:
        place = foreign.comment(error.span, unknown=error.code == "unknown-name")
    return () if place is None else (Diagnostic(
        "syntax-error", place, f"Unexpected '{place.text}'.",
        hints=(Replacement("A comment begins with --.", "--"),)),)


class Checker(Settling):
    """Checks declarations; ``entries`` are the entry points."""

    def __init__(self, entries: frozenset[ast.ValDec]) -> None:
        super().__init__()
        self._entries = entries
        self._hides = False
        """True if there are hidden types."""
        self._definitions: dict[ty.Abstract, ty.Type] = {}
        """Definitions of hidden types that were asked for before."""
        self._memory: Memory | None = None
        self._itself: ast.ValDec | None = None
        """The declaration that the next function is, if that names itself."""

    # Declarations

    def declaration(self, dec: ast.CoreDec) -> None:
        """Check one declaration and add it to the scope."""
        if self._memory is None:
            self._checked(dec)
            return
        said, written = (len(self.errors), len(self._holes)), dict(self._written)
        names = names_in(dec)
        uses = self._meanings(names)
        self._checked(dec)
        if said == (len(self.errors), len(self._holes)) and self.broken.isdisjoint(names):
            new = {key: size for key, size in self._written.items() if written.get(key) != size}
            self._memory.known[dec.name] = Checked(
                dec, uses, self.abbreviations[dec.name] if isinstance(dec, ast.TypeDec)
                else self.scope.top[dec.name], self._constants.get(dec.name), new)

    def _checked(self, dec: ast.CoreDec) -> None:
        match dec:
            case ast.TypeDec():
                self._abbreviation(dec)
            case ast.ValDec():
                self._value(dec)

    def further_unknown(self, dec: ast.CoreDec, error: ProgramError) -> list[Diagnostic]:
        """The other unknown names of a declaration with an unknown name, each once.

        A name that is bound anywhere in the declaration is taken to be known.
        """
        if error.code != "unknown-name" or (
                error.span and (error.span.text in foreign.ALONE or error.span.text.isdigit())):
            return []
        bound = {node.name for node in walk(dec) if isinstance(node, _BINDERS)}
        first = {name.name.name: name for name in reversed(
            [node for node in walk(dec) if isinstance(node, ast.Name) and not node.name.quals])}
        found = list[Diagnostic]()
        for name, node in first.items():
            if name not in (*bound, *PRIMS) and node.span != error.span:
                try:
                    self._lookup(node.name, node.span)
                except ProgramError as other:
                    found += [each for each in other.diagnostics if each.code == "unknown-name"
                              and each.message != error.diagnostics[0].message]
        return found

    # Declarations that were checked before

    def remember(self, memory: Memory) -> dict[str, Checked]:
        """Keep what this check finds, and go on with the names and types of earlier checks.

        The result are the declarations that are known.
        """
        known = memory.begin()
        self._memory, self.names, self.solved = memory, memory.names, memory.solved
        return known

    def knows(self, dec: ast.CoreDec, before: Checked) -> bool:
        """True if a declaration is unchanged since the last check; brings it into scope then.

        Its names must also have unchanged meanings.
        """
        now = self._meanings(before.uses)
        if not self.broken.isdisjoint(before.uses) or not all(
                one is other for name, meaning in before.uses.items()
                for one, other in zip(meaning, now[name], strict=True)):
            return False
        if not take_types(before.dec, dec):
            return False
        assert self._memory is not None
        found: Binding | Abbreviation
        match dec, before.found:
            case ast.ValDec(), Binding() as binding:
                found = dataclasses.replace(binding, span=dec.name_span)
                self.scope.declare(dec.name, found)
            case _, Abbreviation() as found:
                self.abbreviations[dec.name] = found
                if isinstance(dec, ast.TypeDec) and dec.hidden:
                    self._now_hides(dec)
            case _:
                return False
        if before.constant is not None:
            self._constants[dec.name] = before.constant
        self._written |= before.written
        self._memory.known[dec.name] = dataclasses.replace(before, dec=dec, found=found)
        return True

    def _meanings(self, names: Iterable[str]) -> dict[str, Meaning]:
        """The meanings of names at the top level, by identity."""
        found: dict[str, Meaning] = {}
        for name in names:
            binding = self.scope.top.get(name)
            found[name] = (None if binding is None else binding.scheme,
                           None if binding is None else binding.size,
                           self.abbreviations.get(name))
        return found

    def _abbreviation(self, dec: ast.TypeDec) -> None:
        anonymous: list[VName] = []

        with self.inner_scope():
            types, sizes = self._type_params(dec.type_params)
            body = self._read(dec.definition, self._collected(anonymous))
        for exp in walk(dec.definition):  # its value would be unknown where the type is used
            if isinstance(exp, ast.Exp) and exp.as_size in ty.sizes_in(body):
                raise self._error("unsupported-feature", exp.span, "Runelift has no sizes like "
                                  "this one in type abbreviations.", "Give the type a size "
                                  "parameter, and write the size where the type is used.")
        self.abbreviations[dec.name] = Abbreviation(tuple(sizes), tuple(types), body, dec.kind,
                                                    tuple(anonymous), dec.hidden)
        if dec.hidden:
            self._hide(dec, set(sizes), body)
        if not dec.kind and anonymous:
            raise self._error("lifted-abbreviation", dec.span, "Non-lifted type abbreviations may "
                              "not have arrays of any size in their definition.",
                              Replacement(f"Declare it as type~ {dec.name}, or add size "
                                          "parameters.", f"type~{dec.span.text[4:]}"))
        if not dec.kind and ty.type_variables(body) & self.solved.size_lifted:
            raise self._error("lifted-abbreviation", dec.span, "Non-lifted type abbreviations may "
                              "not have size-lifted type parameters in their definition.",
                              f"Declare it as type~ {dec.name}.")
        if dec.kind != "^":
            try:
                self.solved.no_function(body)
            except FunctionalType:
                raise self._error(
                    "function-not-allowed", dec.span, "Non-lifted type abbreviations may not "
                    "contain functions.", f"Declare it as type^ {dec.name}.") from None
        if set(anonymous) - constructive_sizes(body):
            raise self._error(
                "anonymous-nonconstructive", dec.span, "The type abbreviation has an anonymous "
                "size that is not used constructively, as the size of an array.",
                "An array that only a function in the type takes or returns does not have it.")
        for unused in sorted(set(sizes) - ty.sizes_in(body)):
            raise self._error("unused-size", dec.span,
                              f'Size parameter "[{unused.base}]" is not used in the type.')

    def _hide(self, dec: ast.TypeDec, sizes: set[VName], body: ty.Type) -> None:
        """Mark a type as hidden; refuse size parameters that no array in its values has."""
        self._now_hides(dec)
        for size in sorted(sizes - constructive_sizes(self._shown(body))):
            raise self._error("unused-size", dec.span, f'Size parameter "[{size.base}]" is not '
                              "used constructively: no array in a value of the type has this size.")

    def _now_hides(self, dec: ast.TypeDec) -> None:
        """Know from now on that a type is hidden, and what its values may be."""
        self._hides = True
        if dec.kind == "^":
            self.solved.functional.add(dec.name)
        elif dec.kind == "~":
            self.solved.changing.add(dec.name)

    def _shown(self, type_: ty.Type, anonymous: SizeMaker | None = None) -> ty.Type:
        """A type with hidden types replaced by their definitions, as at run time."""
        if not ty.facts(type_).hidden:
            return type_
        make = anonymous or self.solved.size_meta
        match type_:
            case ty.Abstract():
                return self._definition(type_, make)
            case ty.Arrow(domain, codomain) if not isinstance(codomain, ty.Arrow):
                exists: set[VName] = set()
                result = self._shown(codomain, changing(self.names, exists))
                return dataclasses.replace(type_, domain=self._shown(domain, make),
                                           codomain=result, exists=type_.exists | exists)
        return ty.map_parts(lambda part: self._shown(part, make), type_)

    def _definition(self, hidden: ty.Abstract, anonymous: SizeMaker) -> ty.Type:
        """The definition of a hidden type."""
        if (known := self._definitions.get(hidden)) is not None:
            return known
        if hidden.name == ACCUMULATOR:
            return accumulator(*(self._shown(arg, anonymous) for arg in hidden.arguments))
        short = self.abbreviations[hidden.name]
        count = len(short.sizes)
        sizes = [arg.size for arg in hidden.arguments[:count] if isinstance(arg, ty.Array)]
        types = [self._shown(arg, anonymous) for arg in hidden.arguments[count:]]
        found = self._shown(short.applied(sizes, types, anonymous), anonymous)
        if not short.anonymous:
            self._definitions[hidden] = found
        return found

    def _show_hidden(self, dec: ast.ValDec) -> None:
        """Write what hidden types are into a checked declaration."""
        assert dec.type is not None
        dec.type = self._shown(dec.type)
        for node in self._typed:
            assert node.type is not None
            node.type = self._shown(node.type)
            if isinstance(node, ast.Name):
                node.types = {name: self._shown(type_) for name, type_ in node.types.items()}
        for op in self._operators:
            assert op.op_type is not None
            op.op_type = self._shown(op.op_type)

    def _value(self, dec: ast.ValDec) -> None:
        self._typed, self._operators, self._binders = [], [], []
        outside = self._written_outside()
        self._written = {key: size for key, size in self._written.items() if size[0] in outside}
        self._computed.clear()
        self.solved.inner.clear()
        self.declared, self._itself = dec.name, dec if dec.recursive else None
        self._bound.clear()
        scheme = self._function(dec.type_params, dec.params, dec.ret, dec.body, dec.name,
                                dec.specified, sealed=dec.sealed)
        dec.type = scheme.type
        self._finish()
        if not dec.specified:
            self.errors += undecided_sizes(self._typed, self._binders, self.solved.is_open)
        elif not dec.sealed:
            self._check_specified(dec)
        for param in dec.params:
            self.errors += uncovered([param], param.span)
        self.errors += check_causality(dec, self.solved.unknown)
        dec.type = self.solved.resolve(scheme.type)
        errors, function = check_uniqueness(dec, self._constants)
        if not dec.instance:  # a type that is abstract elsewhere may be returned
            self.errors += errors
        dec.type = with_unique_result(dec.type, function.arity, function.unique)
        made_anew = any(isinstance(param, ast.SizeParam) for param in dec.type_params)
        if not made_anew and not isinstance(dec.type, ty.Arrow | ty.Abstract) and (
                holds_arrays(dec.type)):
            self._constants[dec.name] = Origin(dec.name, -1, "it is a constant")
        if dec in self._entries:  # the library may have a function of its name
            self._check_entry(dec, dec.type, set(scheme.sizes) | self.solved.flexible)
        self.scope.declare(dec.name, Binding(
            dataclasses.replace(scheme, type=dec.type),
            self._constant_size(dec), dec.name_span, top=True))
        self.broken.discard(dec.name)
        if self._hides:
            self._show_hidden(dec)

    def _check_specified(self, dec: ast.ValDec) -> None:
        """Refuse constants with size parameters, and results less unique than specified."""
        assert dec.type is not None
        assert dec.ret is not None
        anonymous: list[VName] = []
        with self.inner_scope():
            self._type_params(dec.type_params)
            declared = self._read(dec.ret, self._collected(anonymous))
        if anonymous and not isinstance(declared, ty.Arrow) and not dec.params:
            raise self._error("anonymous-size", dec.span, f'Type substitution in "{dec.specified}" '
                              "results in a size that nothing names.")
        if dec.body.type is not None and not dec.params:
            result = less_unique(self.solved.resolve(dec.type), dec.body.type)
            if result is not None:
                shown = self._show(result)
                raise self._error("unique-result", dec.span, f'The result of "{dec.specified}" has '
                                  f"type {shown}, but the module type specifies *{shown}.",
                                  "Let the function return a copy: copy e.")

    def _constant_size(self, dec: ast.ValDec) -> Size | None:
        if dec.params or dec.type is not Prim.I64:
            return None
        return self._size_of(dec.body) or Size.var(self.names.fresh(dec.name))

    def _function(self, type_params: tuple[ast.SizeParam | ast.TypeParam, ...],
                  params: tuple[ast.Pattern, ...], ret: ast.TypeExp | None, body: ast.Exp,
                  name: str, specified: str = "", *, sealed: bool = False) -> Scheme:
        """The scheme of ``name params : ret = body``, with parameters as in :class:`Base`."""
        made, itself, self._itself = self.names.made(), self._itself, None
        with self.inner_scope():
            types, sizes = self._type_params(type_params)
            self.distinct(params, type_params)
            fixed = self._fixed(sizes) if specified else None
            domains = [self._domain(param, fixed) for param in params]
            self._sizes_are_i64(ret)
            called = None if itself is None else self._bind_itself(itself, domains, sizes)
            begun = self.names.made()
            result = self.infer(body)
            if itself is not None and called is not None:
                self._check_itself(itself, domains, called, result)
            if ret is not None:
                self.errors += sizes_of_inner_names(params, ret)
                of_arguments = fixed if isinstance(ret, ast.TypeArrow) else None
                found, result = result, self._read(ret, of_arguments)  # the body gives the others
                if sealed:
                    self.expect_result(self._shown(result), self._shown(self.solved.resolve(found)),
                                       body, ret.span, specified)
                else:
                    self.expect_result(result, found, body, ret.span, specified)
            self._settle_coerced()
            nameable = self._sizes_outside()
            numbers = self._numbered(params)
            numbers |= {self._identity(ast.QualName((), param.name)): -1 for param in type_params
                        if isinstance(param, ast.SizeParam)}
        self._check_rigid(types, type_params)
        type_: ty.Type = result
        for arrow in reversed(domains):
            type_ = ty.Arrow(arrow.domain, type_, arrow.consumes, False, arrow.param)
        type_ = self._generalise(self.solved.resolve(type_), types)
        inputs = set().union(*(ty.sizes_in(self.solved.resolve(a.domain)) for a in domains), sizes)
        inputs |= {a.param for a in domains if a.param}
        if has_function(type_):
            inputs |= self._undecided()
        outside = self._sizes_outside()
        if ret is None:
            type_ = self._out_of_scope(
                type_, inputs | outside | nameable | ty.params_in(type_))
        resolved = [self.solved.resolve(arrow.domain) for arrow in domains]
        written = {name for name, _ in self._written.values()}
        self.errors += inner_sizes(params, resolved)
        self.errors += later_sizes(params, [arrow.param for arrow in domains], resolved)
        bound = {size for size in self._bound if size.tag > begun}
        computed = {size for size in self.solved.unknown if size.tag > made} | (bound & written)
        self.errors += computed_sizes(params, resolved, computed, bound - written)
        self.errors += unused_sizes(type_params, type_)
        free = ty.sizes_in(type_) - outside
        expressions = {name: self._over(key, numbers) for key, (name, _) in self._written.items()
                       if name in free}
        for k, (param, domain) in enumerate(zip(params, resolved, strict=True)):
            late = {name for name, (count, _) in expressions.items() if count < 0 or count > k}
            self.errors += computed_sizes((param,), (domain,), late, ())
        given = inputs - {name for name, (count, _) in expressions.items() if count > 0}
        self.errors += unknown_parameters(name, type_, len(params),
                                          free - inputs - (written & nameable), body)
        self.solved.decided |= free
        return Scheme(type_, tuple(types), tuple(sorted(free & given)),
                      tuple(sorted(free - given)), frozenset(self.solved.lifted & set(types)),
                      {name: exp for name, exp in expressions.items() if name not in given})

    def _domain(self, param: ast.Pattern, anonymous: SizeMaker | None = None) -> ty.Arrow:
        """The domain of a function from ``param``, as an arrow without a result."""
        size_name = self.names.fresh(base_name(param))
        domain = self.pattern(param, anonymous=anonymous or self.solved.parameter_size,
                              size_name=size_name)
        return ty.Arrow(domain, ty.UNIT, unique_pattern(param), False, size_name)

    def _bind_itself(self, dec: ast.ValDec, domains: Sequence[ty.Arrow],
                     sizes: Iterable[VName]) -> ty.Type:
        """Bring a function into its own scope, and return the type of its calls' results.

        Calls have the types of the definition, but each has other sizes.  If no type of the
        result is declared, it has no sizes.
        """
        unknown: list[VName] = []
        result: ty.Type = self.solved.meta()
        if dec.ret is not None:
            result = self._read(dec.ret, self._collected(unknown))
        type_ = result
        for number, arrow in enumerate(reversed(domains)):
            type_ = dataclasses.replace(arrow, codomain=type_,
                                        fresh=not number and unique_parts(dec.ret))
        own = {*sizes, *(arrow.param for arrow in domains if arrow.param is not None)}
        own |= {name for arrow in domains for name in ty.sizes_in(self.solved.resolve(
            arrow.domain)) & self.solved.parameters}
        named = ty.sizes_in(type_) | ty.params_in(type_)
        self.scope.values[dec.name] = Binding(
            Scheme(type_, (), tuple(sorted(own & named)), tuple(unknown)), None, dec.name_span)
        return result

    def _check_itself(self, dec: ast.ValDec, domains: Sequence[ty.Arrow], called: ty.Type,
                      result: ty.Type) -> None:
        """Check the calls that a function makes of itself, and its result."""
        if dec.ret is None:
            self.expect(called, result, tail(dec.body).span, "the result of a call of itself")
            if ty.facts(self.solved.resolve(called)).arrays:
                raise self._error(
                    "recursive-function", dec.name_span, f"Function '{dec.name}' calls itself, and "
                    "nothing says how large the arrays in its result are.",
                    f"Declare the type of the result: {self._show(called)}.")
        self.errors += recursive_calls(dec, [self.solved.resolve(arrow.domain)
                                             for arrow in domains], self.solved.resolve(result))

    def _fixed(self, sizes: list[VName]) -> SizeMaker:
        """A function that makes a fresh size for each ``[]`` and adds it to ``sizes``."""
        def make() -> Size:
            sizes.append(self.names.fresh(NAMELESS))
            return Size.var(sizes[-1])
        return make

    def _check_rigid(self, types: Collection[VName],
                     params: Collection[ast.SizeParam | ast.TypeParam]) -> None:
        """Refuse a type parameter that inference equated with a type from around its function."""
        for name, binding in self.scope.values.items() if types else ():
            type_ = self.solved.resolve(binding.scheme.type)
            if binding.local and (used := set().union(*map(ty.type_variables, (
                    type_, *self._required_parts(type_)))).intersection(types)):
                param = next(p for p in params if p.name == min(used).base)
                raise self._error(
                    "type-mismatch", param.span, f"The type parameter '{param.name} stands for any "
                    f'type, but here it would have to be that of "{name}", which is bound '
                    "outside of the function.",
                    "Leave out the type parameter and the types that name it.",
                    labels=() if binding.span is None else (Label(binding.span, "bound here"),))

    def _out_of_scope(self, type_: ty.Type, known: set[VName]) -> ty.Type:
        """``type_`` with an unknown size for each size that names a local of a function's body.

        Its callers do not know how such sizes are related.
        """
        renewed: dict[Size, Size] = {}

        def size(old: Size) -> Size:
            names = old.variables()
            if names <= known or names & self.solved.flexible or old == Size.var(min(names)):
                return old
            return renewed.setdefault(old, self.solved.unknown_size())
        return ty.map_sizes(size, type_)

    def _sizes_are_i64(self, ret: ast.TypeExp | None) -> None:
        """Require that parameters which name sizes of the result are i64s."""
        for node in walk(ret):
            match node:
                case ast.TypeArray(_, ast.Name(_, ast.QualName((), name))) if (
                        binding := self.scope.find(name)) is not None and binding.local:
                    self.expect(Prim.I64, binding.scheme.type, node.span, "a size",
                                hint=foreign.declared_size(name, binding.span))

    def _settle_coerced(self) -> None:
        """Give each undecided size ``[]`` of a coercion a new unknown size: that of the value."""
        if not self._coerced:
            return
        undecided = self._undecided() - self.solved.parameters
        for size in self._coerced:
            for name in self.solved.size(Size.var(size)).variables() & undecided:
                if name not in self.solved.sizes:
                    self.solved.sizes[name] = self.solved.unknown_size()
        self._coerced.clear()

    def _undecided(self) -> set[VName]:
        """The sizes that inference has yet to find, without the sizes of names in scope."""
        local = [b.scheme.type for b in self.scope.values.values() if b.local]
        used = set[VName]().union(*(ty.sizes_in(self.solved.resolve(type_)) for type_ in local))
        return self.solved.flexible - used

    def _generalise(self, type_: ty.Type, types: list[VName]) -> ty.Type:
        """Unconstrained type variables become type parameters."""
        parts = {meta for part in self._required_parts(type_) for meta in ty.metas(part)}
        scope_metas = {m for b in self.scope.values.values() if b.local
                       for m in ty.metas(self.solved.resolve(b.scheme.type))}
        for meta in sorted(ty.metas(type_) - scope_metas - parts, key=lambda m: m.id):
            if not any(meta.id in kept for kept in (
                    self.solved.allowed, self.solved.required, self.solved.compared)):
                name = self.names.fresh("t")
                types.append(name)
                if meta.id not in self.solved.values:
                    self.solved.lifted.add(name)
                self.solved.types[meta.id] = ty.TypeVar(name)
        return self.solved.resolve(type_)

    def _required_parts(self, type_: ty.Type) -> list[ty.Type]:
        """The types of fields that values of a type must have, of fields of these, and on."""
        found: list[ty.Type] = []
        seen: set[ty.MetaVar] = set()
        rest = list(ty.metas(type_))
        while rest:
            meta = rest.pop()
            required = self.solved.required.get(meta.id)
            if meta not in seen and required is not None:
                parts = [self.solved.resolve(member) for _, member in required.members]
                found += parts
                rest += [each for part in parts for each in ty.metas(part)]
            seen.add(meta)
        return found

    def _check_entry(self, dec: ast.ValDec, type_: ty.Type, undecided: set[VName]) -> None:
        """Check that an entry point is of first order and decides about ``undecided`` sizes."""
        constructive: set[VName] = set()
        named: set[VName] = set()
        written, type_ = type_, self._shown(type_)
        if has_accumulator(type_):
            raise self._error("bad-entry", dec.name_span, f"Entry point '{dec.name}' takes or "
                              "returns an accumulator.", "Only functions that scatter_stream and "
                              "reduce_by_index_stream call have accumulators.")
        while isinstance(written, ty.Arrow):
            named |= ty.sizes_in(written.domain)
            written = written.codomain
        while isinstance(type_, ty.Arrow):
            constructive |= plain_sizes(type_.domain)
            undecided = undecided - ty.sizes_in(type_.domain) - {type_.param}
            if not first_order(type_.domain):
                raise self._error("bad-entry", dec.name_span, f"Entry point '{dec.name}' has a "
                                  "parameter that is a function or polymorphic.",
                                  "Entry point functions may not be higher-order: who calls them "
                                  "passes data.  Define it with 'def', and an entry point for "
                                  "each use.")
            type_ = type_.codomain
        for param in dec.type_params:
            if isinstance(param, ast.TypeParam):
                raise self._error("bad-entry", param.span, "Entry point functions may not be "
                                  f"polymorphic, as '{dec.name}' is in '{param.name}.")
            if isinstance(param, ast.SizeParam) and param.size in named - constructive:
                raise self._error("bad-entry", param.span, f"Entry point size parameter "
                                  f"[{param.name}] is only used non-constructively: no parameter "
                                  "is an array of this size.")
        if not first_order(type_):
            raise self._error("bad-entry", dec.ret.span if dec.ret else tail(dec.body).span,
                              f"Entry point '{dec.name}' must not return a function.",
                              labels=(Label(dec.name_span, "the entry point"),))
        if ty.sizes_in(type_) & undecided:
            raise self._error(
                "size-polymorphic-entry", dec.name_span, "Entry point functions must not be "
                "size-polymorphic in their return type.",
                f"Nothing decides about a size of {self._show(type_)}.")
