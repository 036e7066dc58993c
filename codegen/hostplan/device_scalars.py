"""Scalars that stay on the device (:mod:`runelift.codegen.hostplan.scalar_residence`).

A *deferred* scalar is an expression over buffers, which every kernel that uses it computes.  A
scalar that branches, versions or iterations hand on is in a *scalar buffer*, of one element.  The
buffer has a separate name, which stands for another memory each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from runelift.codegen.hostplan.buffers import Buffers
from runelift.codegen.plan import plan
from runelift.codegen.plan.views import lit
from runelift.ir import imp
from runelift.ir.base.errors import CompilerBug
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.syntax import Body, Level, Param, SegDim, SegMap, Stm
from runelift.ir.types import Atom, array_of, elem_of, i64


class DeviceScalars(Buffers):
    """Binds scalars that kernels made, and reads them where the host needs them."""

    __slots__ = ()

    def defers(self, stm: Stm, args: Sequence[Atom]) -> bool:
        """True if the host need not know a scalar that comes from the device or from a loop's
        index.
        """
        return stm.pat[0].name not in self.residence.needed and any(
            arg in self.deferred or arg in self.indices for arg in args)

    def compute(self, name: str, *args: Atom, prim: Prim = Prim.I64) -> VName:
        """Add a scalar operation of the host; the name of its result."""
        fresh = self.names.fresh("h")
        result = Prim.BOOL if name in ("eq", "lt", "le") else prim
        self.types[fresh] = result
        self.emit(plan.Compute(fresh, name, prim, args))
        return fresh

    def defer(self, stm: Stm, exp: imp.Exp) -> None:
        """Leave the computation of a scalar to the kernels that use it."""
        self.deferred[stm.pat[0].name] = exp

    def scalar_result(self, name: VName, prim: Prim, buffer: VName) -> None:
        """Bind a scalar to the only element of ``buffer``."""
        if name in self.residence.needed:
            self.emit(plan.Read(name, prim, buffer, lit(0)))
        else:
            self.singles.add(buffer)
            self.deferred[name] = imp.Load(buffer, lit(0), prim)

    def read_back(self, scalars: Sequence[tuple[VName, Atom]]) -> None:
        """Bind names on the host to the values of atoms; read all values on the device at once."""
        on_host = _OnHost(self)
        ends = [plan.Bind(name, on_host.atom(atom)) for name, atom in scalars]
        self.emit(*on_host.reads.values(), *on_host.steps, *ends)

    def hand_on(self, pat: Sequence[Param], atoms: Sequence[Atom]) -> list[tuple[VName, Atom]]:
        """The scalar buffers of parameters in ``pat``, each with a buffer of its value."""
        handed = [(p, atom) for p, atom in zip(pat, atoms, strict=True)
                  if p.name in self.residence.on_device]
        buffers = self._in_buffers([(atom, elem_of(p.type)) for p, atom in handed])
        return [(self._scalar_buffer(p), buffer) for (p, _),
                buffer in zip(handed, buffers, strict=True)]

    def _scalar_buffer(self, param: Param) -> VName:
        """The name of the buffer of a scalar, whose value it holds from now on."""
        buffer = self.scalar_buffers.get(param.name)
        if buffer is None:
            buffer = self.scalar_buffers[param.name] = self.names.fresh(param.name)
            self.types[buffer] = param.type
            self.singles.add(buffer)
            self.deferred[param.name] = imp.Load(buffer, lit(0), elem_of(param.type))
        return buffer

    def scalar_buffer_of(self, name: VName, prim: Prim) -> VName:
        """A buffer with nothing but the present value of a deferred scalar."""
        (buffer,) = self._in_buffers([(name, prim)])
        return buffer

    def _in_buffers(self, atoms: Sequence[tuple[Atom, Prim]]) -> list[VName]:
        """Buffers with nothing but the values of ``atoms``; one kernel makes all new buffers."""
        made: dict[Atom, Param] = {}
        found: list[VName] = []
        for atom, prim in atoms:
            match self.deferred.get(atom) if isinstance(atom, VName) else None:
                case imp.Load(buffer) if buffer in self.singles:
                    found.append(buffer)
                case _:
                    base = atom if isinstance(atom, VName) else "cell"
                    made.setdefault(atom, Param(self.names.fresh(base), array_of((i64(1),), prim)))
                    found.append(made[atom].name)
        for param in made.values():
            self.allocate(param)
        if made:
            one = SegDim(self.names.fresh("one"), i64(1))
            kernel = SegMap(Level.GRID, (one,), Body((), tuple(made)),
                            tuple(elem_of(p.type) for p in made.values()))
            self.segop(Stm(tuple(made.values()), kernel))
        return found


@dataclass(slots=True)
class _OnHost:
    """Deferred scalars that the host computes after all, from what it reads of the device."""

    scalars: DeviceScalars
    reads: dict[imp.Load, plan.Read] = field(default_factory=dict)
    steps: list[plan.Step] = field(default_factory=list)
    known: dict[VName, Atom] = field(default_factory=dict)

    def atom(self, atom: Atom) -> Atom:
        """The value of an atom."""
        if not isinstance(atom, VName) or atom not in self.scalars.deferred:
            return atom
        if atom not in self.known:
            self.known[atom] = self._value(self.scalars.deferred[atom])
        return self.known[atom]

    def _value(self, exp: imp.Exp) -> Atom:
        match exp:
            case imp.Var(name):
                return self.atom(name)
            case imp.Lit(value):
                return value
            case imp.Load(buffer, index, prim):
                read = plan.Read(self.scalars.names.fresh(buffer), prim, buffer, index)
                return self.reads.setdefault(exp, read).name
            case imp.Apply(op, prim, args):
                name = self.scalars.names.fresh("t")
                given = tuple(map(self._value, args))
                self.steps.append(plan.Compute(name, op, prim, given))
                return name
            case imp.Convert(from_, to, arg):
                name = self.scalars.names.fresh("t")
                self.steps.append(plan.ConvertScalar(name, from_, to, self._value(arg)))
                return name
        raise CompilerBug(f"{exp} cannot be computed on the host")
