"""Generic traversal: free variables, substitution, renaming.

Everything rests on three functions that know the shape of each node.  :func:`map_exp` rebuilds an
expression from its parts; :func:`bodies_of` and :func:`lambdas_of` list what is inside.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, assert_never

from runelift.ir import syntax as ir
from runelift.ir.guards import Guard, Lengths
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import Ragged
from runelift.ir.sizes import Size
from runelift.ir.types import ArrayType, Atom, Const, Type

Part = TypeVar("Part")
FLAT = frozenset({ir.AccWrite, ir.ArrayLit, ir.Assert, ir.AtomExp, ir.Call, ir.Concat, ir.Convert,
                  ir.Copy, ir.Index, ir.Iota, ir.LengthFacts, ir.PrimOp,
                  ir.Pad, ir.Rearrange, ir.Replicate, ir.Reshape, ir.SlabSize, ir.Slide, ir.Update})
"""The expressions with nothing inside: most of a program, so that a look at the kind saves time."""


def is_flat(exp: ir.Exp) -> bool:
    """True if ``exp`` has neither bodies nor lambdas."""
    return type(exp) in FLAT


def bodies_of(exp: ir.Exp) -> tuple[ir.Body, ...]:
    """The bodies directly inside ``exp``, without the bodies of its lambdas."""
    if type(exp) in FLAT:
        return ()
    match exp:
        case ir.Loop(body=body) | ir.Recursion(body=body):
            return (body,)
        case ir.If(then_=then_, else_=else_):
            return (then_, else_)
        case ir.SegMap(body=body) | ir.SegRed(body=body) | ir.SegScan(body=body):
            return (body,)
        case ir.SegScatter(body=body) | ir.SegHist(body=body) | ir.SegAccumulate(body=body):
            return (body,)
        case ir.Versions(alternatives=alternatives):
            return tuple(version.body for version in alternatives)
    return ()


def bodies_inside(exp: ir.Exp) -> tuple[ir.Body, ...]:
    """The bodies directly inside ``exp``, then the bodies of its lambdas."""
    return (*bodies_of(exp), *(lam.body for lam in lambdas_of(exp)))


def statements_inside(bodies: Iterable[ir.Body]) -> Iterator[ir.Stm]:
    """The statements of bodies, each followed by the statements inside of it."""
    left = [stm for body in bodies for stm in body.stms][::-1]
    while left:
        stm = left.pop()
        yield stm
        if type(stm.exp) not in FLAT:
            inside = [each for body in bodies_inside(stm.exp) for each in body.stms]
            left += reversed(inside)


def statements_at_host(body: ir.Body) -> Iterator[ir.Stm]:
    """The statements of a body and of all bodies inside, but not inside segmented operations."""
    left = [*reversed(body.stms)]
    while left:
        stm = left.pop()
        yield stm
        if not isinstance(stm.exp, ir.SEGOPS):
            inside = [each for inner in bodies_of(stm.exp) for each in inner.stms]
            left += reversed(inside)


def lambdas_of(exp: ir.Exp) -> tuple[ir.Lambda, ...]:
    """The lambdas directly inside ``exp``: operators first, then what is mapped."""
    if type(exp) in FLAT:
        return ()
    match exp:
        case ir.Map(lam=lam) | ir.Scatter(lam=lam) | ir.Jvp(lam=lam) | ir.Vjp(lam=lam):
            return (lam,)
        case ir.WithVjp(lam=lam, back=back):
            return (lam, back)
        case ir.Redomap(ops=ops, lam=lam) | ir.Scanomap(ops=ops, lam=lam):
            return (*(op.lam for op in ops), lam)
        case ir.Hist(ops=ops, lam=lam):
            return (*(op.op.lam for op in ops), lam)
        case ir.Accumulate(ops=ops, lam=lam):
            return (*(op.lam for op in ops), lam)
        case ir.SegScan(ops=ops, post=ir.Lambda() as post):
            return (*(op.lam for op in ops), post)
        case ir.SegRed(ops=ops) | ir.SegScan(ops=ops) | ir.SegAccumulate(ops=ops):
            return tuple(op.lam for op in ops)
        case ir.SegHist(ops=ops):
            return tuple(op.op.lam for op in ops)
    return ()


@dataclass(frozen=True, slots=True)
class Mapper:
    """The functions that :func:`map_exp` applies to the parts of an expression.

    ``atom`` maps uses, ``bind`` maps the names that are bound, ``body`` and ``lam`` map what is
    inside.  If nothing changes, the result is the same object.  Most of a program stays as it is in
    most passes, and facts noted on a body stay with it.
    """

    atom: Callable[[Atom], Atom]
    bind: Callable[[VName], VName]
    body: Callable[[ir.Body], ir.Body]
    lam: Callable[[ir.Lambda], ir.Lambda]

    def name(self, name: VName) -> VName:
        """A use that must stay a name (an array)."""
        atom = self.atom(name)
        assert isinstance(atom, VName), f"{name} is used as an array but would become {atom}"
        return atom

    def names(self, names: tuple[VName, ...]) -> tuple[VName, ...]:
        """Map the names of used arrays."""
        return tuple(map(self.name, names))

    def atoms(self, atoms: tuple[Atom, ...]) -> tuple[Atom, ...]:
        """Map used atoms."""
        return tuple(map(self.atom, atoms))

    def type(self, type_: Type) -> Type:
        """Map the sizes in a type."""
        if isinstance(type_, ArrayType):
            shape = self.atoms(type_.shape)
            return type_ if shape == type_.shape else ArrayType(type_.elem, shape)
        return type_

    def types(self, types: tuple[Type, ...]) -> tuple[Type, ...]:
        """Map the sizes in types."""
        return tuple(map(self.type, types))

    def param(self, param: ir.Param) -> ir.Param:
        """Map a binder and its type."""
        return self.typed(self.bind(param.name), param)

    def typed(self, name: VName, param: ir.Param) -> ir.Param:
        """A binder under its new name, with its type."""
        type_ = self.type(param.type)
        return param if name is param.name and type_ is param.type else ir.Param(name, type_)

    def dim(self, dim: ir.Dim) -> ir.Dim:
        """Map an index or slice."""
        if isinstance(dim, ir.SliceDim):
            new = ir.SliceDim(self.atom(dim.start), self.atom(dim.count), self.atom(dim.stride))
            return dim if new == dim else new
        return self.atom(dim)

    def operator(self, op: ir.Operator) -> ir.Operator:
        """Map an operator."""
        lam, neutral = self.lam(op.lam), self.atoms(op.neutral)
        return op if lam is op.lam and neutral == op.neutral else ir.Operator(lam, neutral, op.comm)

    def hist_op(self, op: ir.HistOp) -> ir.HistOp:
        """Map the operator and destinations of one histogram."""
        return ir.HistOp(self.atom(op.bins), self.names(op.dests), self.operator(op.op))

    def space(self, space: ir.Space) -> ir.Space:
        """An index space; its indices are bound."""
        return tuple(ir.SegDim(self.bind(dim.index), self.extent(dim.extent)) for dim in space)

    def extent(self, extent: Atom | Ragged) -> Atom | Ragged:
        """Map the width of a dimension."""
        if not isinstance(extent, Ragged):
            return self.atom(extent)
        return Ragged(self.name(extent.lengths), self.atom(extent.total),
                      None if extent.offsets is None else self.name(extent.offsets),
                      extent.sharing,
                      None if extent.longest is None else self.atom(extent.longest),
                      None if extent.squares is None else self.atom(extent.squares))

    def size(self, size: Size) -> Size:
        """Map a symbolic size."""
        if all(self.atom(name) is name for name in size.variables()):
            return size
        return size.substitute(lambda name: size_of(self.atom(name)))

    def guard(self, guard: Guard) -> Guard:
        """Map the sizes of a guard."""
        needs = tuple(replace(need, left=self.size(need.left), right=self.size(need.right))
                      for need in guard.needs)
        lengths = guard.lengths and Lengths(*map(self.size, guard.lengths.sizes()))
        new = replace(guard, par=self.size(guard.par), needs=needs, lengths=lengths)
        return guard if new == guard else new


def map_exp(m: Mapper, exp: ir.Exp) -> ir.Exp:
    """``exp`` with its parts mapped by ``m``."""
    if isinstance(exp, ir.PrimOp):  # by far the most
        args = m.atoms(exp.args)
        return exp if args == exp.args else ir.PrimOp(exp.op, exp.prim, args)
    new = _mapped(m, exp)
    return exp if _same_inside(new, exp) and new == exp else new


def _same_inside(new: ir.Exp, exp: ir.Exp) -> bool:
    """True if bodies and lambdas are the same objects, so that the rest is soon compared."""
    return is_flat(exp) or (
        all(map(operator.is_, bodies_of(new), bodies_of(exp)))
        and all(map(operator.is_, lambdas_of(new), lambdas_of(exp))))


def _mapped(m: Mapper, exp: ir.Exp) -> ir.Exp:
    """Like :func:`map_exp`, but a new object even if nothing changes.

    One case per construct makes it long.
    """
    match exp:
        case ir.PrimOp(op, prim, args):
            return ir.PrimOp(op, prim, m.atoms(args))
        case ir.AtomExp(atom):
            return ir.AtomExp(m.atom(atom))
        case ir.Index(array, dims, checked):
            return ir.Index(m.name(array), tuple(map(m.dim, dims)), checked)
        case ir.Convert(from_, to, arg):
            return ir.Convert(from_, to, m.atom(arg))
        case ir.ArrayLit(elems, row):
            return ir.ArrayLit(m.atoms(elems), m.type(row))
        case ir.Update(array, dims, value, checked):
            return ir.Update(m.name(array), tuple(map(m.dim, dims)), m.atom(value), checked)
        case ir.Iota(count, start, step, prim):
            return ir.Iota(m.atom(count), m.atom(start), m.atom(step), prim)
        case ir.Replicate(shape, value):
            return ir.Replicate(m.atoms(shape), m.atom(value))
        case ir.Concat(dim, arrays, size):
            return ir.Concat(dim, m.names(arrays), m.atom(size))
        case ir.Rearrange(perm, array):
            return ir.Rearrange(perm, m.name(array))
        case ir.Reshape(shape, array):
            return ir.Reshape(m.atoms(shape), m.name(array))
        case ir.Slide(dim, size, step, count, array):
            return ir.Slide(dim, m.atom(size), m.atom(step), m.atom(count), m.name(array))
        case ir.Pad(dim, before, after, value, array):
            return ir.Pad(dim, m.atom(before), m.atom(after), m.atom(value), m.name(array))
        case ir.Copy(array):
            return ir.Copy(m.name(array))
        case ir.LengthFacts(lengths):
            return ir.LengthFacts(m.name(lengths))
        case ir.SlabSize(each, longest):
            return ir.SlabSize(m.atom(each), m.atom(longest))
        case ir.SegmentLength(likely):
            return ir.SegmentLength(m.atom(likely))
        case ir.Call(function, args, ret):
            return ir.Call(m.name(function), m.atoms(args), m.types(ret))
        case ir.Assert(cond, message, args):
            return ir.Assert(m.atom(cond), message, m.atoms(args))
        case ir.If(cond, then_, else_, ret):
            return ir.If(m.atom(cond), m.body(then_), m.body(else_), m.types(ret))
        case ir.Loop(params, form, body):
            inits = [m.atom(p.init) for p in params]
            names = [m.bind(p.param.name) for p in params]
            carried = tuple(ir.LoopParam(ir.Param(name, m.type(p.param.type)), init)
                            for name, p, init in zip(names, params, inits, strict=True))
            new_form = (ir.ForLoop(m.bind(form.index), m.atom(form.bound))
                        if isinstance(form, ir.ForLoop) else ir.WhileLoop(m.name(form.cond)))
            return ir.Loop(carried, new_form, m.body(body))
        case ir.Recursion(function, params, body, ret):
            inits, types = [m.atom(p.init) for p in params], m.types(ret)
            name, names = m.bind(function), [m.bind(p.param.name) for p in params]
            given = tuple(ir.LoopParam(ir.Param(own, m.type(p.param.type)), init)
                          for own, p, init in zip(names, params, inits, strict=True))
            return ir.Recursion(name, given, m.body(body), types)
        case ir.Map(width, lam, arrays):
            return ir.Map(m.atom(width), m.lam(lam), m.names(arrays))
        case ir.Redomap(width, ops, lam, arrays):
            return ir.Redomap(m.atom(width), tuple(map(m.operator, ops)), m.lam(lam),
                              m.names(arrays))
        case ir.Scanomap(width, ops, lam, arrays):
            return ir.Scanomap(m.atom(width), tuple(map(m.operator, ops)), m.lam(lam),
                            m.names(arrays))
        case ir.Scatter(width, lam, arrays, dests):
            return ir.Scatter(m.atom(width), m.lam(lam), m.names(arrays), _dests(m, dests))
        case ir.Hist(width, hist_ops, lam, arrays):
            return ir.Hist(m.atom(width), tuple(map(m.hist_op, hist_ops)), m.lam(lam),
                        m.names(arrays))
        case ir.Accumulate(width, accs, ops, lam, arrays):
            return ir.Accumulate(m.atom(width), m.names(accs), tuple(map(m.operator, ops)),
                                 m.lam(lam), m.names(arrays))
        case ir.AccWrite(acc, token, at, values):
            return ir.AccWrite(m.name(acc), m.atom(token), m.atom(at), m.atoms(values))
        case ir.Jvp(lam, args, tangents):
            return ir.Jvp(m.lam(lam), m.atoms(args), m.atoms(tangents))
        case ir.Vjp(lam, args, seeds):
            return ir.Vjp(m.lam(lam), m.atoms(args), m.atoms(seeds))
        case ir.WithVjp(lam, back, args, results):
            return ir.WithVjp(m.lam(lam), m.lam(back), m.atoms(args), results)
        case ir.SegMap(level, space, body, ret):
            return ir.SegMap(level, m.space(space), m.body(body), m.types(ret))
        case ir.SegRed(level, space, ops, body, ret):
            return ir.SegRed(level, m.space(space), tuple(map(m.operator, ops)), m.body(body),
                          m.types(ret))
        case ir.SegScan(level, space, ops, body, ret, post, backwards):
            return ir.SegScan(level, m.space(space), tuple(map(m.operator, ops)), m.body(body),
                           m.types(ret), post and m.lam(post), backwards)
        case ir.SegScatter(level, space, dests, body):
            return ir.SegScatter(level, m.space(space), _dests(m, dests), m.body(body))
        case ir.SegHist(level, space, hist_ops, body):
            return ir.SegHist(level, m.space(space), tuple(map(m.hist_op, hist_ops)), m.body(body))
        case ir.SegAccumulate(level, space, acc, accs, ops, body):
            return ir.SegAccumulate(level, m.space(space), m.bind(acc), m.names(accs),
                                    tuple(map(m.operator, ops)), m.body(body))
        case ir.Versions(site, alternatives, ret):
            return ir.Versions(site, tuple(
                replace(v, guard=v.guard and m.guard(v.guard), body=m.body(v.body))
                for v in alternatives), m.types(ret))
        case _:
            assert_never(exp)


def _dests(m: Mapper, dests: tuple[ir.Dest, ...]) -> tuple[ir.Dest, ...]:
    return tuple(ir.Dest(m.name(dest.array), dest.rank) for dest in dests)


def size_of(atom: Atom) -> Size:
    """The symbolic size that an i64 atom is."""
    return Size.var(atom) if isinstance(atom, VName) else Size.of(int(atom.value))


def arithmetic(exp: ir.Exp | None, size: Callable[[Atom], Size] = size_of) -> Size | None:
    """The i64 that an expression adds, subtracts or multiplies, of operands by ``size``, or None.

    Sizes are far from where i64s wrap.
    """
    match exp:
        case ir.PrimOp("add", Prim.I64, (x, y)):
            return size(x) + size(y)
        case ir.PrimOp("sub", Prim.I64, (x, y)):
            return size(x) - size(y)
        case ir.PrimOp("mul", Prim.I64, (x, y)):
            return size(x) * size(y)
    return None


def map_stm(m: Mapper, stm: ir.Stm) -> ir.Stm:
    """``stm`` with its parts mapped by ``m``.

    The pattern is bound first: the types of a branch's results may name its sizes.
    """
    names = [m.bind(p.name) for p in stm.pat]
    exp = map_exp(m, stm.exp)
    pat = tuple(map(m.typed, names, stm.pat))
    return stm if exp is stm.exp and pat == stm.pat else ir.Stm(pat, exp, stm.attrs, stm.loc)


def map_body(m: Mapper, body: ir.Body) -> ir.Body:
    """``body`` with its parts mapped by ``m``, in order."""
    return body_of(body, [map_stm(m, stm) for stm in body.stms], m.atoms(body.result))


def map_lambda(m: Mapper, lam: ir.Lambda) -> ir.Lambda:
    """``lam`` with its parts mapped by ``m``."""
    names = [m.bind(p.name) for p in lam.params]
    params = tuple(map(m.typed, names, lam.params))
    return lambda_of(lam, params, map_body(m, lam.body), m.types(lam.ret))


# The same objects where nothing changes


def stm_of(before: ir.Stm, exp: ir.Exp) -> ir.Stm:
    """The statement with another expression, unless it is its own."""
    return before if exp is before.exp else ir.Stm(before.pat, exp, before.attrs, before.loc)


def body_of(before: ir.Body, stms: Sequence[ir.Stm], result: tuple[Atom, ...]) -> ir.Body:
    """A body: ``before`` itself, if its statements and results are these objects."""
    same = len(stms) == len(before.stms) and all(map(operator.is_, stms, before.stms))
    return before if same and result == before.result else ir.Body(tuple(stms), result)


def lambda_of(before: ir.Lambda, params: tuple[ir.Param, ...], body: ir.Body, ret: tuple[Type, ...]
              ) -> ir.Lambda:
    """A lambda; the one that was there if its body is the same one."""
    same = body is before.body and params == before.params and ret == before.ret
    return before if same else ir.Lambda(params, body, ret)


# Inside


def map_inside(exp: ir.Exp, body: Callable[[ir.Body], ir.Body],
               lam: Callable[[ir.Lambda], ir.Lambda]) -> ir.Exp:
    """``exp`` with the bodies and lambdas directly inside it mapped; the same object if equal."""
    if is_flat(exp):
        return exp
    return map_exp(Mapper(_same, _same, body, lam), exp)


def _same(part: Part) -> Part:
    return part


# Names


def atoms_of(dim: ir.Dim) -> tuple[Atom, ...]:
    """The atoms of an index or slice."""
    return (dim.start, dim.count, dim.stride) if isinstance(dim, ir.SliceDim) else (dim,)


def uses(exp: ir.Exp) -> Iterable[VName]:
    """The names that ``exp`` uses outside of its bodies and lambdas, perhaps several times."""
    if isinstance(exp, ir.PrimOp):  # by far the most
        return [atom for atom in exp.args if isinstance(atom, VName)]
    if isinstance(exp, ir.Index):
        return [exp.array, *(atom for dim in exp.dims for atom in atoms_of(dim)
                             if isinstance(atom, VName))]
    found: list[VName] = []

    def use(atom: Atom) -> Atom:
        if isinstance(atom, VName):
            found.append(atom)
        return atom

    _mapped(Mapper(use, _same, _same, _same), exp)
    if type(exp) in FLAT:
        return found
    own = set(bound_by(exp))
    return [name for name in found if name not in own]


def bound_by(exp: ir.Exp) -> Iterator[VName]:
    """The names that ``exp`` itself binds for its bodies: loop parameters, indices."""
    match exp:
        case ir.Loop(params, form):
            yield from (p.param.name for p in params)
            if isinstance(form, ir.ForLoop):
                yield form.index
        case ir.Recursion(function, params):
            yield function
            yield from (p.param.name for p in params)
        case ir.SegMap(space=space) | ir.SegRed(space=space) | ir.SegScan(space=space):
            yield from (dim.index for dim in space)
        case ir.SegScatter(space=space) | ir.SegHist(space=space):
            yield from (dim.index for dim in space)
        case ir.SegAccumulate(space=space, acc=acc):
            yield from (dim.index for dim in space)
            yield acc


def needed_for(stms: Sequence[ir.Stm], wanted: Iterable[Atom]) -> tuple[ir.Stm, ...]:
    """The statements that must run before ``wanted`` are known, in order."""
    names, chosen = {a for a in wanted if isinstance(a, VName)}, list[ir.Stm]()
    for stm in reversed(stms):
        if any(p.name in names for p in stm.pat):
            names |= free_vars(stm)
            chosen.append(stm)
    return tuple(reversed(chosen))


def names_from_outside(body: ir.Body) -> frozenset[VName]:
    """The names that a body uses but does not bind; they stay noted on it."""
    if body.free is None:
        object.__setattr__(body, "free", frozenset(_free_in_body(body)))
    return body.free or frozenset()


def free_vars(node: ir.Exp | ir.Body | ir.Lambda | ir.Stm) -> set[VName]:
    """The names that ``node`` uses but does not bind, also in types."""
    match node:
        case ir.Stm(pat, exp):
            free = free_vars(exp)
            if any(isinstance(p.type, ArrayType) for p in pat):
                free |= _type_names(p.type for p in pat) - {p.name for p in pat}
            return free
        case ir.Body():
            return set(names_from_outside(node))
        case ir.Lambda(params, body, ret):
            free = free_vars(body) | _type_names(ret) | _type_names(p.type for p in params)
            return free - {p.name for p in params} - _bound_in(body, free)
        case _:
            free = set(uses(node))
            if type(node) in FLAT:
                return free
            for body in bodies_of(node):
                free |= names_from_outside(body)
            for lam in lambdas_of(node):
                free |= free_vars(lam)
            return free - set(bound_by(node))


def _free_in_body(body: ir.Body) -> set[VName]:
    free = {atom for atom in body.result if isinstance(atom, VName)}
    for stm in reversed(body.stms):
        free -= {p.name for p in stm.pat}
        free |= free_vars(stm)
    return free


def _bound_in(body: ir.Body, names: set[VName]) -> set[VName]:
    """Names among ``names`` that statements of ``body`` bind (a result's size may be one)."""
    return {p.name for stm in body.stms for p in stm.pat} & names


def _type_names(types: Iterable[Type]) -> set[VName]:
    return {size for type_ in types if isinstance(type_, ArrayType)
            for size in type_.shape if isinstance(size, VName)}


def binders(node: ir.Exp | ir.Body | ir.Lambda | ir.Stm) -> Iterator[VName]:
    """Every name that is bound anywhere inside ``node``."""
    match node:
        case ir.Stm(pat, exp):
            yield from (p.name for p in pat)
            yield from binders(exp)
        case ir.Body(stms, _):
            for stm in stms:
                yield from binders(stm)
        case ir.Lambda(params, body, _):
            yield from (p.name for p in params)
            yield from binders(body)
        case _:
            yield from bound_by(node)
            for body in bodies_of(node):
                yield from binders(body)
            for lam in lambdas_of(node):
                yield from binders(lam)


def types_in(fun: ir.Fun) -> dict[VName, Type]:
    """Each name that a function binds, with its type."""
    found = {p.name: p.type for p in fun.params}
    for stm in statements_inside((fun.body,)):
        found.update((p.name, p.type) for p in stm.pat)
        found.update((p.name, p.type) for each in lambdas_of(stm.exp) for p in each.params)
        if isinstance(stm.exp, ir.Loop | ir.Recursion):
            found.update((p.param.name, p.param.type) for p in stm.exp.params)
        if isinstance(stm.exp, ir.Loop) and isinstance(stm.exp.form, ir.ForLoop):
            found[stm.exp.form.index] = Prim.I64
    return found


def program_names(program: ir.Program) -> Iterator[VName]:
    """Every name that is bound in ``program``."""
    for fun in program.funs:
        yield from (p.name for p in fun.params)
        yield from (p.name for p in fun.results)
        yield from binders(fun.body)


# Substitution and renaming


def _substitution(mapping: Mapping[VName, Atom]) -> Mapper:
    def atom(use: Atom) -> Atom:
        return mapping.get(use, use) if isinstance(use, VName) else use

    m = Mapper(atom, _same, lambda body: map_body(m, body), lambda lam: map_lambda(m, lam))
    return m


def substitute_type(type_: Type, mapping: Mapping[VName, Atom]) -> Type:
    """A type with other sizes."""
    return _substitution(mapping).type(type_)


def substitute_stm(stm: ir.Stm, mapping: Mapping[VName, Atom]) -> ir.Stm:
    """``stm[x ↦ a, ...]``, also in the types of its pattern."""
    return map_stm(_substitution(mapping), stm) if mapping else stm


def substitute_body(body: ir.Body, mapping: Mapping[VName, Atom]) -> ir.Body:
    """``body[x ↦ a, ...]``."""
    return map_body(_substitution(mapping), body) if mapping else body


def _renaming(names: Names) -> Mapper:
    fresh: dict[VName, VName] = {}

    def atom(use: Atom) -> Atom:
        return use if isinstance(use, Const) else fresh.get(use, use)

    def bind(name: VName) -> VName:
        fresh[name] = names.fresh(name)
        return fresh[name]

    m = Mapper(atom, bind, lambda body: map_body(m, body), lambda lam: map_lambda(m, lam))
    return m


def rename_body(body: ir.Body, names: Names) -> ir.Body:
    """A copy of ``body`` in which all bound names are fresh."""
    return map_body(_renaming(names), body)


def rename_lambda(lam: ir.Lambda, names: Names) -> ir.Lambda:
    """A copy of ``lam`` in which all bound names are fresh."""
    return map_lambda(_renaming(names), lam)
