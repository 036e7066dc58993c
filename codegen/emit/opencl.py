"""Kernels as OpenCL C 1.2.

The first two arguments of every kernel are the failure buffers.  One is an int, -1 until the first
failure sets it to ``base + code``.  The other has the arguments of the failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import zip_longest

from runelift.codegen.emit.atomics import INDENT, atomic, locked, swapped
from runelift.codegen.emit.loop_directives import UNROLL_FULLY
from runelift.codegen.emit.opencl_expressions import Expressions, is_branch_free
from runelift.codegen.emit.prelude import STORED, TYPES, linked
from runelift.codegen.emit.signatures import FAILURE_ARGS, parameters, team_cells, uses_subgroups
from runelift.codegen.emit.source_places import SourceOfStatements, annotated
from runelift.codegen.passes.llvm_workarounds import has_truncation, wraps_around
from runelift.codegen.passes.unrolling import arrays_in_memory, splits_into_pieces
from runelift.codegen.plan.origins import Origins
from runelift.ir import imp
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.base.lines import placed
from runelift.ir.base.source import Loc
from runelift.ir.base.visible import one_line
from runelift.ir.imp import Exp, Id, Stm
from runelift.ir.imp.traverse import has_barriers, statements
from runelift.ir.names import VName
from runelift.ir.prim import Prim

MOST_BRACES = 200
"""Branches and loops inside of more blocks have no braces: Clang allows 256 levels."""
LOCAL_CELL = "ulong2"
"""The widest type of local memory: arrays in it start at multiples of its size."""
MOST_MACRO_ARGS = 6
"""The most arguments of a failure for which the prelude has a macro."""

def opencl_program(kernels: Iterable[imp.Kernel], bases: dict[str, int],
                   constants: Mapping[VName, int] | None = None, *,
                   functions: Mapping[str, str] | None = None,
                   origins: Origins | None = None) -> str:
    """The source of a program; ``bases`` gives each kernel's first failure code.

    ``functions`` has other names for kernels (:func:`function_names`).  With ``origins``, lines end
    with their place in the source (:mod:`~runelift.codegen.emit.source_places`).
    """
    return linked("\n".join(opencl_source(
        k, bases.get(k.name, 0), constants, (functions or {}).get(k.name), origins)
        for k in kernels))


def opencl_source(kernel: imp.Kernel, base: int = 0,
                  constants: Mapping[VName, int] | None = None, function: str | None = None,
                  origins: Origins | None = None) -> str:
    """One kernel, without the prelude; its constants are 1 unless they are given."""
    locate = None if origins is None else SourceOfStatements(kernel, origins)
    return "\n".join(annotated(opencl_lines(kernel, base, constants, locate, function))) + "\n"


def opencl_lines(kernel: imp.Kernel, base: int = 0, constants: Mapping[VName, int] | None = None,
                 locate: Callable[[Stm], Iterable[Loc]] | None = None,
                 function: str | None = None) -> list[str]:
    """The lines of :func:`opencl_source`; ``locate`` tells the places of their statements.

    ``constants`` may also be another kernel's.  A size that is fixed there may be an argument here.
    """
    given = dict.fromkeys(kernel.constants, 1) | dict.fromkeys(kernel.settings, 0)
    given |= {name: value for name, value in (constants or {}).items() if name in given}
    printer = _Printer(kernel, base, given, built=bool(constants))
    printer.locate = locate
    params = ["FAILURE"]
    params += [printer.param(p) for p in parameters(kernel)]
    params += [printer.local_param(a) for a in kernel.local_memory]
    lines = [f"// {one_line(kernel.comment)}"] if kernel.comment else []
    chosen = "" if constants else "  // chosen by the host for each build"
    lines += [f"#define {printer.name(c)} {given[c]}L{chosen}" for c in kernel.constants]
    if kernel.group is not None:
        group = given[kernel.group] * printer.teams
        lines.append(group_attributes(group, subgroups=uses_subgroups(kernel)))
    lines += [f"__kernel void {function or kernel.name}(", *(f" {each}," for each in params[:-1]),
              f" {params[-1]})", "{"]
    lines += printer.start()
    lines += printer.block(kernel.body, 1)
    return [*lines, "}", *(f"#undef {printer.name(c)}" for c in kernel.constants)]


def group_attributes(group: int, *, subgroups: bool) -> str:
    """The attributes of a kernel with groups of a size, which may use sub-groups."""
    size = f"__attribute__((reqd_work_group_size({group}, 1, 1)))"
    return f"IN_SUBGROUPS {size}" if subgroups else size


def phase_name(kernel: imp.Kernel, constants: tuple[int, ...]) -> str:
    """The name of the kernel's function in persistent kernels."""
    return "_".join([kernel.name, *map(str, constants)])


def phase_function(kernel: imp.Kernel, base: int, constants: tuple[int, ...]) -> str:
    """A kernel as a C function; its arguments are the number of the group and the count of groups.

    The groups that run it all have one size, and no work-item leaves it early.
    """
    given = dict(zip(kernel.built_for, constants, strict=True))
    printer = _Printer(kernel, base, given, virtual=True)
    params = ["const long group_id", "const long num_groups",
              "volatile __global int *failure_code", "__global long *failure_args"]
    params += [printer.param(p) for p in parameters(kernel)]
    params += [printer.local_param(a) for a in kernel.local_memory]
    lines = [f"#define {printer.name(c)} {given[c]}L" for c in kernel.constants]
    lines.append(f"inline void {phase_name(kernel, constants)}(\n " + ",\n ".join(params) + ")\n{")
    lines += printer.start()
    lines += printer.block(kernel.body, 1)
    lines += ["}", *(f"#undef {printer.name(c)}" for c in kernel.constants)]
    return "\n".join(lines) + "\n"


class _Printer(Expressions):
    def __init__(self, kernel: imp.Kernel, base: int, constants: Mapping[VName, int], *,
                 built: bool = True, virtual: bool = False) -> None:
        super().__init__(kernel, constants, built=built, virtual=virtual)
        self.base = base
        self.teams = 1 if kernel.teams is None else constants[kernel.teams]
        self.facts: dict[VName, bool] = {}
        self.synchronizes = has_barriers(kernel.body)
        self.separated = False
        """True if a statement that the optimiser keeps follows the last branch."""
        self.locate: Callable[[Stm], Iterable[Loc]] | None = None

    @cached_property
    def cuts(self) -> bool:
        """True if the kernel truncates any number, so that loop indices may wrap around."""
        return has_truncation(self.kernel.body)

    @cached_property
    def in_memory(self) -> frozenset[VName]:
        """The private arrays that no compiler keeps in registers."""
        return arrays_in_memory(self.kernel)

    def start(self) -> list[str]:
        """Declarations of a work-item's team, if there are teams, and of local arrays."""
        if self.teams == 1:
            return [self._local_array(array) for array in self.kernel.locals]
        items, group = (self.exp(imp.WorkItem(i)) for i in (Id.LOCAL_SIZE, Id.GROUP_ID))
        lines = [f"    const long team = (uint)get_local_id(0) / (uint){items}, "
                 f"item = (uint)get_local_id(0) % (uint){items};",
                 f"    const long row = {group} * {self.teams}L + team;"]
        self.ids = {**self.ids, Id.LOCAL_ID: "item", Id.GROUP_ID: "row"}
        return lines + [self._local_array(array) for array in self.kernel.locals]

    def _local_array(self, array: imp.LocalArray) -> str:
        """An array by its element type; one within another starts at that one's start."""
        type_ = STORED[array.prim]
        place = self.name(array.within) if array.within else f"{self.name(array.name)}_cells"
        if self.teams > 1 and array.within is None:
            place = f"({place} + team * {self.name(team_cells(array.name))})"
        if place == f"{self.name(array.name)}_cells":
            return f"{INDENT}LOCAL_ARRAY({type_}, {self.name(array.name)});"
        return f"{INDENT}__local {type_} *{self.name(array.name)} = (__local {type_} *){place};"

    def known(self, cond: Exp) -> bool | None:
        """The value of a condition if it is known when the kernel is built."""
        match cond:
            case imp.Var(v):
                return self.facts.get(v)
            case imp.Apply("and" | "or" as op, Prim.BOOL, args):
                values = [self.known(arg) for arg in args]
                return (op == "or") if (op == "or") in values else (
                    None if None in values else op == "and")
            case imp.Apply("eq" | "lt" as op, Prim.I64, (left, right)):
                a, b = self.constant(left), self.constant(right)
                return None if a is None or b is None else (a == b if op == "eq" else a < b)
        return None

    def carried(self, body: tuple[Stm, ...]) -> list[VName]:
        """The variables that a loop without barriers changes, in kernels with barriers."""
        if not self.synchronizes or has_barriers(body):
            return []
        inside = statements(body)
        own = {each.name for each in inside if isinstance(each, imp.Declare)}
        return sorted({each.name for each in inside if isinstance(each, imp.Assign)} - own)

    def param(self, param: imp.KernelParam) -> str:
        if isinstance(param, imp.ScalarParam):
            return f"const {TYPES[param.prim]} {self.name(param.name)}"
        qualifier = "" if param.written else "const "
        return f"{qualifier}__global {STORED[param.prim]} *{self.name(param.name)}"

    def local_param(self, array: imp.LocalArray) -> str:
        """Local memory by its widest type, so that compilers know its alignment."""
        return f"__local {LOCAL_CELL} *{self.name(array.name)}_cells"

    def block(self, stms: tuple[Stm, ...], depth: int) -> list[str]:
        lines, taken = list[str](), list(self.taken(stms))
        for stm, after in zip_longest(taken, taken[1:]):
            if isinstance(stm, imp.Barrier) and not self.separated and not self.is_kept(after):
                own = [f"{INDENT * depth}JOINED;"]
                self.separated = True
            else:
                own = []
            own += self.stm(stm, depth)
            lines += own if self.locate is None else placed(own, *self.locate(stm))
            match stm:
                case imp.Store(mem) if mem in self.shared:
                    self.separated = True
                case imp.Declare(_, _, init):
                    self.separated &= init is None or is_branch_free(init)
                case imp.Assign(_, value):
                    self.separated &= is_branch_free(value)
                case imp.DeclareArray() | imp.Barrier() | imp.Comment():
                    pass
                case imp.If(cond) if self.known(cond) is not None:
                    pass
                case _:
                    self.separated = False
        return lines

    def remains_loop(self, bound: Exp) -> bool:
        """True if the optimiser keeps a loop, so that an iteration begins with its index.

        One of known length may be unrolled: then the end of an iteration comes before the next.
        """
        return (isinstance(bound, imp.Var) and bound.name in self.shared
                and bound.name not in self.constants)

    def taken(self, stms: tuple[Stm, ...]) -> Iterator[Stm]:
        """The statements, with known branches replaced by the side that is taken."""
        for stm in stms:
            if isinstance(stm, imp.If) and (known := self.known(stm.cond)) is not None:
                yield from self.taken(stm.then_ if known else stm.else_)
            else:
                yield stm

    def is_kept(self, stm: Stm | None) -> bool:
        """True if the optimiser keeps a statement at its place, outside of branches."""
        return isinstance(stm, imp.Store) and stm.mem in self.shared and is_branch_free(
            stm.index) and is_branch_free(stm.value)

    def side(self, stms: tuple[Stm, ...], depth: int, number: int) -> list[str]:
        """One side of a branch; PoCL puts barriers into loops."""
        self.separated = self.synchronizes and any(
            isinstance(each, imp.Barrier | imp.While)
            or (isinstance(each, imp.For)
                and self.directives.of(each) != [UNROLL_FULLY])
            for each in statements(stms))
        begin = [f"{INDENT * depth}BEGUN({number});"] if self.separated else []
        return begin + self.block(stms, depth)

    def stm(self, stm: Stm, depth: int) -> list[str]:
        pad = INDENT * depth
        match stm:
            case imp.Declare(v, prim, init):
                if init is not None and (fact := self.known(init)) is not None:
                    self.facts[v] = fact
                if v in self.inlined:
                    return []
                value = f" = {self.exp(init)}" if init is not None else ""
                return [f"{pad}{TYPES[prim]} {self.name(v)}{value or ' = 0'};"]
            case imp.DeclareArray(v, prim, length):
                size = self.name(length) if isinstance(length, VName) else length
                where = "IN_MEMORY " if v in self.in_memory else ""
                return [f"{pad}{where}{TYPES[prim]} {self.name(v)}[{size}];"]
            case imp.Assign(v, value):
                return [f"{pad}{self.name(v)} = {self.exp(value)};"]
            case imp.Store(mem, index, value, prim):
                stored = self.exp(value)
                if prim is Prim.F16 and mem in self.shared:
                    stored = f"bits_of_f16({stored})"
                return [f"{pad}{self.element(mem, index, prim)} = {stored};"]
            case imp.For() | imp.While():
                return (self._loop if depth <= MOST_BRACES else self._loop_by_jumps)(stm, depth)
            case imp.If(cond, then_, else_) if (known := self.known(cond)) is not None:
                return self.block(then_ if known else else_, depth)
            case imp.If(cond, (imp.Fail() as failure,), ()):
                self.separated = False
                return [f"{pad}if {self.condition(cond)} {{ {self._fail(failure)} }}"]
            case imp.If(cond, then_, else_) if depth > MOST_BRACES:
                return self._by_jumps(cond, then_, else_, depth)
            case imp.If(cond, then_, else_):
                lines = [f"{pad}if {self.condition(cond)} {{", *self.side(then_, depth + 1, 1)]
                if else_:
                    lines += [f"{pad}}} else {{", *self.side(else_, depth + 1, 2)]
                return [*lines, f"{pad}}}"]
            case imp.Barrier():
                if self.kernel.teams is not None:
                    return [f"{pad}MEET_TEAM({self.name(self.kernel.constants[0])});"]
                return [f"{pad}MEET_ALL;"]
            case imp.Shuffle(v, prim, value, source, subgroup):
                word = "ulong" if prim.bits == 64 else "uint"
                bits, back = (f"as_{word}", f"as_{TYPES[prim]}") if prim.is_float else (
                    f"({word})", f"({TYPES[prim]})")
                return [f"{pad}{TYPES[prim]} {self.name(v)} = {back}(shuffle_{word}("
                        f"{bits}({self.exp(value)}), {self.exp(source)}, {self.name(subgroup)}));"]
            case imp.Fence():
                return [f"{pad}fence_device();"]
            case imp.Atomic():
                return [f"{pad}{atomic(self, stm)}"]
            case imp.AtomicUpdate():
                return swapped(self, stm, pad, self.block(stm.body, depth + 1))
            case imp.Locked():
                return self._locked(stm, depth)
            case imp.Peek(v, prim, mem, index):
                return [f"{pad}{TYPES[prim]} {self.name(v)} = peek((volatile __global ulong *)"
                        f"&{self.name(mem)}[{self.index(index)}]);"]
            case imp.Fail():
                return [f"{pad}{self._fail(stm)}"]
            case imp.Comment(text):
                return [f"{pad}// {one_line(text)}"]

    def _by_jumps(self, cond: Exp, then_: tuple[Stm, ...], else_: tuple[Stm, ...],
                  depth: int) -> list[str]:
        """A branch without braces; all names of a kernel differ."""
        number, pad = self.number("side"), INDENT * depth
        return [f"{pad}if (!{self.condition(cond)}) goto side_{number};",
                *self.side(then_, depth, 1), f"{pad}goto joined_{number};",
                f"{pad}side_{number}:;", *self.side(else_, depth, 2), f"{pad}joined_{number}:;"]

    def _fail(self, stm: imp.Fail) -> str:
        """A failure: a macro of the prelude, which notes the values that have room there."""
        if len(stm.args) > FAILURE_ARGS:
            raise CompilerLimitation(f"an error message has {len(stm.args)} values, "
                                     f"more than {FAILURE_ARGS}")
        code, values = self.base + stm.code, [self.exp(a) for a in stm.args]
        if len(values) <= MOST_MACRO_ARGS:
            return f"FAIL_{len(values)}({', '.join([str(code), *values])})"
        notes = " ".join(f"failure_args[{k}] = {v};" for k, v in enumerate(values))
        return f"FAIL({code}) {{ {notes} }}"

    def _loop(self, stm: imp.For | imp.While, depth: int) -> list[str]:
        """A loop, with directives for compilers."""
        pad = INDENT * depth
        match stm:
            case imp.For(index, imp.Lit(), imp.Var() as bound, _, body) if (
                    self.constant(bound) == 1 and self.constant(stm.start) == 0):
                return [f"{pad}{{", f"{pad}{INDENT}const long {self.name(index)} = 0;",
                        *self.block(body, depth + 1), f"{pad}}}"]
            case imp.For(index, start, bound, step, body):
                i, how = self.name(index), self.directives.of(stm)
                lines = [f"{pad}{each}" for each in how]
                if not isinstance(bound, imp.Lit | imp.WorkItem) and how == []:
                    lines += [f"{pad}DIFFERS({self.name(v)});" for v in self.carried(body)]
                if self.cuts and wraps_around(index, body):
                    lines.append(f"{pad}GOES_ROUND")
                lines.append(f"{pad}for (long {i} = {self.exp(start)}; {i} < {self.exp(bound)}; "
                             f"{i} += {self.exp(step)}) {{")
                self.separated = self.remains_loop(bound)
                if how == [UNROLL_FULLY] and splits_into_pieces(stm, self.kernel):
                    lines.append(f"{pad}{INDENT}NEXT_PIECE;")
                return [*lines, *self.block(body, depth + 1), f"{pad}}}"]
            case imp.While(cond, body):
                self.separated = False
                return [*(f"{pad}DIFFERS({self.name(v)});" for v in self.carried(body)),
                        f"{pad}while ({self.exp(cond)}) {{", *self.block(body, depth + 1),
                        f"{pad}}}"]

    def _loop_by_jumps(self, stm: imp.For | imp.While, depth: int) -> list[str]:
        """A loop without braces."""
        number, pad = self.number("again"), INDENT * depth
        first, last = list[str](), list[str]()
        if isinstance(stm, imp.For):
            i = self.name(stm.index)
            first = [f"{pad}long {i} = {self.exp(stm.start)};"]
            last = [f"{pad}{i} += {self.exp(stm.step)};"]
            goes_on = f"({i} < {self.exp(stm.bound)})"
        else:
            goes_on = f"({self.exp(stm.cond)})"
        self.separated = False
        return [*first, f"{pad}again_{number}:;", f"{pad}if (!{goes_on}) goto over_{number};",
                *self.block(stm.body, depth), *last, f"{pad}goto again_{number};",
                f"{pad}over_{number}:;"]

    def _locked(self, stm: imp.Locked, depth: int) -> list[str]:
        """The C lines of a statement under a lock."""
        around, self.guarded = self.guarded, {
            **self.guarded, **dict.fromkeys(stm.guarded, stm.space)}
        lines = locked(self, stm, INDENT * depth, self.block(stm.body, depth + 2))
        self.guarded = around
        return lines
