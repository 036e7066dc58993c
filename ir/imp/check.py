"""The well-formedness of kernels: what code generation promises to every reader of a kernel.

* Names are declared before their use and once in a scope.
* Operands have the types that operations need.
* Memory is written only where that was announced.
* All work-items of a group, and of the groups side by side with it, reach a barrier together
  (:mod:`runelift.ir.imp.uniformity`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from runelift.ir import imp
from runelift.ir.base.errors import CompilerBug
from runelift.ir.imp import Exp, Kernel, Space, Stm
from runelift.ir.imp.pretty import pretty_expression, pretty_statement
from runelift.ir.imp.traverse import asked, has_barriers
from runelift.ir.imp.uniformity import among_groups, within_group
from runelift.ir.names import VName
from runelift.ir.prim import OPS, Prim

ATOMIC_OPS = frozenset({"add", "min", "max", "and", "or", "xor", "xchg"})


def _has_atomic(op: str, prim: Prim, space: Space) -> bool:
    """True if there is an atomic operation on a type."""
    if prim.is_float:
        return op == "add" and prim.bits >= 32 and space is Space.GLOBAL
    return op in ATOMIC_OPS and prim.is_int and prim.bits >= 32


def check(kernel: Kernel) -> None:
    """Raise CompilerBug, naming the kernel and the statement, unless ``kernel`` is well formed."""
    checker = _Checker(kernel)
    checker.parameters()
    checker.block(kernel.body)
    checker.barriers()


@dataclass(frozen=True, slots=True)
class _Memory:
    prim: Prim
    space: Space
    written: bool = True


@dataclass(slots=True)
class _Checker:
    kernel: Kernel
    scope: dict[VName, Prim | _Memory] = field(default_factory=dict)
    fixed: set[VName] = field(default_factory=set)
    declared: list[VName] = field(default_factory=list)
    """The names in scope, in order."""
    place: Stm | None = None

    def fail(self, why: str) -> CompilerBug:
        at = ""
        if self.place is not None:
            at = f" in '{pretty_statement(self.place).splitlines()[0]}'"
        return CompilerBug(f"kernel '{self.kernel.name}'{at}: {why}")

    # Scopes

    def parameters(self) -> None:
        """Bind the names of the kernel's parameters and constants."""
        for constant in self.kernel.constants:
            self.bind(constant, Prim.I64, fixed=True)
        for role in (self.kernel.teams, self.kernel.even, self.kernel.width):
            if role not in (None, *self.kernel.constants):
                raise self.fail(f"{role} is no constant of the kernel")
        for param in self.kernel.params:
            if isinstance(param, imp.ScalarParam):
                self.bind(param.name, param.prim, fixed=True)
            else:
                self.bind_memory(param.name, _Memory(param.prim, Space.GLOBAL, param.written))
        for array in self.kernel.locals:
            self.bind_memory(array.name, _Memory(array.prim, Space.LOCAL))
            if array.within is not None and array.within not in {
                    a.name for a in self.kernel.local_memory}:
                raise self.fail(f"{array.name} lies within {array.within}, which has no memory")

    def barriers(self) -> None:
        """Check that all work-items come to every barrier that one work-item comes to."""
        body, kernel, self.place = self.kernel.body, self.kernel, None
        shared = [*(p.name for p in kernel.params), *(a.name for a in kernel.locals)]
        some = has_barriers(body)
        if some and not within_group(body, shared).barriers_meet:
            raise self.fail("only some work-items may come to a barrier")
        if kernel.teams is None:
            return
        if some and not among_groups(body).barriers_meet:
            raise self.fail("only some groups may come to a barrier")
        if {imp.Id.NUM_GROUPS, imp.Id.GLOBAL_SIZE} & set(asked(body)):
            raise self.fail("groups side by side do not know how many there are")

    def bind(self, name: VName, prim: Prim, *, fixed: bool = False) -> None:
        """Bind a scalar; ``fixed`` if it cannot be assigned."""
        self._declare(name, prim)
        if fixed:
            self.fixed.add(name)

    def bind_memory(self, name: VName, memory: _Memory) -> None:
        """Bind the name of a memory."""
        self._declare(name, memory)

    def _declare(self, name: VName, what: Prim | _Memory) -> None:
        if name in self.scope:
            raise self.fail(f"{name} is declared twice")
        self.scope[name] = what
        self.declared.append(name)

    def forget(self, outer: int) -> None:
        """Leave a scope, around which the ``outer`` first names were declared."""
        for name in self.declared[outer:]:
            del self.scope[name]
        self.fixed.difference_update(self.declared[outer:])
        del self.declared[outer:]

    # Statements

    def block(self, stms: Iterable[Stm]) -> None:
        """Check statements that form a scope."""
        outer = len(self.declared)
        for stm in stms:
            self.place = stm
            self.statement(stm)
        self.forget(outer)

    def statement(self, stm: Stm) -> None:
        """Check one statement; long, with one case per construct."""
        match stm:
            case imp.Declare(name, prim, init):
                if init is not None:
                    self.expect(init, prim)
                self.bind(name, prim)
            case imp.DeclareArray(name, prim, length):
                if isinstance(length, VName) and length not in self.kernel.constants:
                    raise self.fail(f"the length {length} is no constant of the kernel")
                self.bind_memory(name, _Memory(prim, Space.PRIVATE))
            case imp.Assign(name, value):
                variable = self.scope.get(name)
                if name in self.fixed or not isinstance(variable, Prim):
                    raise self.fail(f"{name} is no variable")
                self.expect(value, variable)
            case imp.Store(mem, index, value, prim):
                self.cell(mem, index, prim, writes=True)
                self.expect(value, prim)
            case imp.For(index, start, bound, step, body, unroll):
                if isinstance(unroll, VName) and unroll not in self.kernel.settings:
                    raise self.fail(f"{unroll} is no setting of the kernel")
                for exp in (start, bound, step):
                    self.expect(exp, Prim.I64)
                outer = len(self.declared)
                self.bind(index, Prim.I64, fixed=True)
                self.block(body)
                self.forget(outer)
            case imp.While(cond, body):
                self.expect(cond, Prim.BOOL)
                self.block(body)
            case imp.If(cond, then_, else_):
                self.expect(cond, Prim.BOOL)
                self.block(then_)
                self.block(else_)
            case imp.Atomic(op, prim, mem, index, value, space, old):
                if not _has_atomic(op, prim, space):
                    raise self.fail(f"no device has an atomic {op} on {prim}")
                self.cell(mem, index, prim, writes=True, space=space)
                self.expect(value, prim)
                if old is not None:
                    self.bind(old, prim)
            case imp.AtomicUpdate(mem, index, prim, space, old, body, new):
                self.cell(mem, index, prim, writes=True, space=space)
                outer = len(self.declared)
                self.bind(old, prim)
                for inner in body:
                    self.statement(inner)
                self.expect(new, prim)
                self.forget(outer)
            case imp.Locked(locks, index, space, guarded, body):
                self.cell(locks, index, Prim.I32, writes=True, space=space)
                for mem in guarded:
                    memory = self.scope.get(mem)
                    if not isinstance(memory, _Memory) or memory.space is not space:
                        raise self.fail(f"{mem} is not in {space.value} memory, but its lock is")
                self.block(body)
            case imp.Shuffle(name, prim, value, source, subgroup):
                if subgroup not in self.kernel.constants:
                    raise self.fail(f"{subgroup} is no constant of the kernel")
                self.expect(value, prim)
                self.expect(source, Prim.I64)
                self.bind(name, prim)
            case imp.Peek(name, prim, mem, index):
                if not prim.is_int or prim.bits != 64:
                    raise self.fail(f"no device peeks at a {prim}")
                self.cell(mem, index, prim, writes=True, space=Space.GLOBAL)
                self.bind(name, prim)
            case imp.Fail(code, args):
                if not 0 <= code < len(self.kernel.failures):
                    raise self.fail(f"there is no failure {code}")
                for arg in args:
                    self.expect(arg, Prim.I64)
            case imp.Barrier() | imp.Fence() | imp.Comment():
                pass

    # Expressions

    def cell(self, mem: VName, index: Exp, prim: Prim, *, writes: bool = False,
             space: Space | None = None) -> None:
        """Check the access of an element in a memory."""
        memory = self.scope.get(mem)
        if not isinstance(memory, _Memory):
            raise self.fail(f"there is no memory {mem}")
        if memory.prim is not prim:
            raise self.fail(f"{mem} has elements of type {memory.prim}, not {prim}")
        if writes and not memory.written:
            raise self.fail(f"{mem} is only read, its parameter says")
        if space is not None and memory.space is not space:
            raise self.fail(f"{mem} is in {memory.space.value} memory, not in {space.value}")
        self.expect(index, Prim.I64)

    def expect(self, exp: Exp, prim: Prim) -> None:
        """Check that an expression has the type ``prim``."""
        found = self.type(exp)
        if found is not prim:
            raise self.fail(f"'{pretty_expression(exp)}' has type {found}, not {prim}")

    def type(self, exp: Exp) -> Prim:
        """The type of an expression, whose parts are checked."""
        match exp:
            case imp.Var(name):
                found = self.scope.get(name)
                if not isinstance(found, Prim):
                    raise self.fail(f"there is no scalar {name} here")
                return found
            case imp.Lit(const):
                return const.prim
            case imp.Apply(op, prim, args):
                row = OPS.get(op)
                if row is None or len(args) != row.arity or prim not in row.domain:
                    raise self.fail(f"there is no {op}.{prim} on {len(args)} values")
                for arg in args:
                    self.expect(arg, prim)
                return row.result(prim)
            case imp.Convert(from_, to, arg):
                self.expect(arg, from_)
                return to
            case imp.Load(mem, index, prim):
                self.cell(mem, index, prim)
                return prim
            case imp.Select(cond, then_, else_, prim):
                self.expect(cond, Prim.BOOL)
                self.expect(then_, prim)
                self.expect(else_, prim)
                return prim
            case imp.WorkItem():
                return Prim.I64
