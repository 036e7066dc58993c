"""Expressions of kernels in OpenCL C 1.2.

Operations are made total here: the language gives every shift, conversion and division a result, C
does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from runelift.codegen.emit.inlining import used_once
from runelift.codegen.emit.loop_directives import LoopDirectives
from runelift.codegen.emit.prelude import STORED, TYPES
from runelift.ir import imp
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.imp import Exp, Id
from runelift.ir.imp.traverse import subexpressions
from runelift.ir.names import VName
from runelift.ir.prim import SAME_BITS, Prim
from runelift.ir.types import Const

MOST_DIGITS = 6
"""The most digits of a float as decimal text; a longer float is written by its bits."""

_IDS = {
    Id.GLOBAL_ID: "get_global_id", Id.LOCAL_ID: "get_local_id", Id.GROUP_ID: "get_group_id",
    Id.GLOBAL_SIZE: "get_global_size", Id.LOCAL_SIZE: "get_local_size",
    Id.NUM_GROUPS: "get_num_groups",
}
_SHORT_IDS = {(Id.GLOBAL_ID, 0): "GID", (Id.LOCAL_ID, 0): "LID",
              (Id.FAILURE, 0): "(long)*failure_code"}
"""The indices for which the prelude has a macro."""
_VIRTUAL_IDS = {
    Id.GROUP_ID: "group_id", Id.NUM_GROUPS: "num_groups",
    Id.GLOBAL_ID: "(group_id * (long)get_local_size(0) + (long)get_local_id(0))",
    Id.GLOBAL_SIZE: "(num_groups * (long)get_local_size(0))",
}
"""Indices in a group that does the work of several groups, see :func:`phase_function`."""

_INFIX = {"add": "+", "sub": "-", "mul": "*", "eq": "==", "lt": "<", "le": "<=", "and": "&",
          "or": "|", "xor": "^"}
_BRACKETED = frozenset({"eq", "lt", "le", "and", "or", "not"})
"""Operations on conditions whose text is in brackets, if it begins with one."""
_FUNCTIONS = {"min": "fmin", "max": "fmax", "abs": "fabs", "gamma": "tgamma", "round": "rint",
              "mod": "fmod"}
_EXACT = frozenset({"neg", "abs", "min", "max", "mod", "floor", "ceil", "trunc", "round",
                    "copysign", "sgn", "eq", "lt", "le", "isnan", "isinf"})
"""Operations on floats that give an f16, or no float, for numbers that are f16."""
_OF_HALVES = frozenset({"fma", "nextafter"})
"""Operations on f16 whose results are not the rounded results on f32."""
_BRANCH_FREE = _INFIX.keys() | {"shl", "shr", "lshr", "not"}
"""Operations that certainly compile without branches."""
_MODULAR = {Prim.I32: "uint", Prim.I64: "ulong", Prim.U16: "uint"}
"""Types in which arithmetic wraps, where C leaves overflow undefined (u16 promotes to int)."""


class Expressions:
    """The expressions of a kernel, built with ``constants``, as C text."""

    def __init__(self, kernel: imp.Kernel, constants: Mapping[VName, int], *, built: bool,
                 virtual: bool) -> None:
        self.kernel = kernel
        self.constants = constants
        self.built = built
        self.ids = _VIRTUAL_IDS if virtual else {}
        self.shared = {each.name for each in (*kernel.params, *kernel.locals)}
        self.inlined = used_once(kernel.body)
        self.directives = LoopDirectives(kernel, constants, self.constant)
        self.guarded: Mapping[VName, imp.Space] = {}
        """The memories that other work-items change, so that no element may stay in a register."""
        self._names: dict[VName, str] = {}
        self._numbers = Counter[str]()

    def name(self, vname: VName) -> str:
        """A name as a C identifier, numbered within the kernel."""
        found = self._names.get(vname)
        if found is None:
            found = f"{vname.base}_{self.number(vname.base)}".replace("'", "_q")
            self._names[vname] = found
        return found

    def number(self, base: str) -> int:
        """A number for a name that the kernel does not have."""
        self._numbers[base] += 1
        return self._numbers[base]

    def constant(self, exp: Exp) -> int | None:
        """The value of an expression that is known when the kernel is built."""
        match exp:
            case imp.Lit(Const(int() as value)):
                return value
            case imp.Var(v) if self.built:
                return self.constants.get(v)
            case imp.WorkItem(Id.LOCAL_SIZE) if self.built and self.kernel.group is not None:
                return self.constants[self.kernel.group]
        return None

    def element(self, mem: VName, index: Exp, prim: Prim) -> str:
        """An element of memory by its bits."""
        cells, space = self.name(mem), self.guarded.get(mem)
        if space is not None:
            cells = f"((volatile __{space.value} {STORED[prim]} *){cells})"
        return f"{cells}[{self.index(index)}]"

    def exp(self, exp: Exp) -> str:
        """An expression as C text."""
        match exp:
            case imp.Var(v):
                return self.exp(self.inlined[v]) if v in self.inlined else self.name(v)
            case imp.Lit(const):
                return literal(const)
            case imp.Load(mem, index, prim):
                element = self.element(mem, index, prim)
                by_bits = prim is Prim.F16 and mem in self.shared
                return f"f16_of_bits({element})" if by_bits else element
            case imp.Convert(from_, to, arg):
                return _convert(from_, to, self.exp(arg))
            case imp.Select(cond, then_, else_, prim):
                return (f"({self.selecting(cond)} ? {self.typed(then_, prim)} "
                        f": {self.typed(else_, prim)})")
            case imp.WorkItem(Id.LOCAL_SIZE) if self.kernel.group is not None:
                return self.name(self.kernel.group)
            case imp.WorkItem(kind, dim):
                if dim and kind in self.ids:
                    raise CompilerLimitation("groups that run side by side have one dimension")
                return self.ids.get(kind) or _SHORT_IDS.get((kind, dim)) or (
                    f"(long){_IDS[kind]}({dim})")
            case imp.Apply("and", Prim.BOOL, (_, imp.Apply("lt", _, (index, size)))) if (
                    _is_inside(exp)):
                return f"INSIDE({self.exp(index)}, {self.exp(size)})"
            case imp.Apply("add" | "sub" | "mul" as op, Prim.I64, (left, right)):
                return f"{op.upper()}({self.exp(left)}, {self.exp(right)})"
            case imp.Apply("add" | "sub" | "mul", prim) if prim in _MODULAR:
                return f"({TYPES[prim]}){self._modular(exp, prim)}"
            case imp.Apply("div" | "mod" as op, prim, (arg, imp.Lit(Const(int() as divisor)))) if (
                    prim.is_int and divisor > 0 and divisor.bit_count() == 1):
                return self._by_power(op, prim, arg, divisor)
            case imp.Apply("quot" | "rem" as op, Prim.I64 | Prim.U64, (
                    arg, imp.Lit() | imp.Var() as divisor)) if (
                        self.directives.bound(divisor) or 0) > 0:
                return f"({self.exp(arg)} {'/' if op == 'quot' else '%'} {self.exp(divisor)})"
            case imp.Apply(op, prim, args):
                texts = [self.exp(a) for a in args]
                return self._apply(op, prim, texts, lambda: ", ".join(
                    self._cast(a, text, prim) for a, text in zip(args, texts, strict=True)))

    def selecting(self, cond: Exp) -> str:
        """The condition of a selection, without branches if its parts are quick.

        A branch in a loop keeps loads of later iterations from being issued.
        """
        match cond:
            case imp.Apply("and" | "or" as op, Prim.BOOL, (left, right)) if self._is_quick(
                    cond) and not _is_inside(cond):
                return f"({self.selecting(left)} {_INFIX[op]} {self.selecting(right)})"
            case imp.Apply("not", Prim.BOOL, (arg,)):
                return f"(!{self.selecting(arg)})"
            case imp.Var(name) if name in self.inlined:
                return self.selecting(self.inlined[name])
        return self.exp(cond)

    def _is_quick(self, exp: Exp) -> bool:
        """True if a condition costs less than a branch around it: it neither loads nor divides."""
        return all(self._is_quick(self.inlined[part.name]) if isinstance(part, imp.Var) and (
            part.name in self.inlined) else isinstance(part, imp.Var | imp.Lit | imp.WorkItem) or (
            isinstance(part, imp.Apply) and part.op in _BRANCH_FREE)
            for part in subexpressions(exp))

    def condition(self, exp: Exp) -> str:
        """A condition as C text, in brackets."""
        text = self.exp(exp)
        bracketed = isinstance(exp, imp.Apply) and exp.op in _BRACKETED and text.startswith("(")
        return text if bracketed else f"({text})"

    def typed(self, exp: Exp, prim: Prim) -> str:
        """An expression of type ``prim``, with a cast if C gives it another type."""
        return self._cast(exp, self.exp(exp), prim)

    def _cast(self, exp: Exp, text: str, prim: Prim) -> str:
        """The text of an expression, with a cast where C would give it another type."""
        while isinstance(exp, imp.Var) and exp.name in self.inlined:
            exp = self.inlined[exp.name]
        match exp:
            case imp.Var() | imp.Load() | imp.Lit():
                return text
            case imp.Apply("add" | "sub" | "mul", same) if same in _MODULAR or same in (
                    Prim.F32, Prim.F64):
                return text
        return f"({TYPES[prim]})({text})"

    def _by_power(self, op: str, prim: Prim, arg: Exp, divisor: int) -> str:
        """Division by a power of two, which rounds down as a shift and a mask do."""
        if op == "div":
            text = f"{self.exp(arg)} >> {divisor.bit_length() - 1}"
        else:
            text = f"{self.exp(arg)} & {literal(Const(divisor - 1, prim))}"
        return f"({TYPES[prim]})({text})"

    def index(self, exp: Exp) -> str:
        """An index: it is inside of a memory, so its arithmetic cannot overflow."""
        match exp:
            case imp.Apply("add" | "sub" | "mul" as op, Prim.I64, (left, right)):
                return f"({self.index(left)} {_INFIX[op]} {self.index(right)})"
        return self.exp(exp)

    def _modular(self, exp: Exp, prim: Prim, *, cast: bool = True) -> str:
        """Arithmetic in an unsigned type; without ``cast``, an operand beside already has the
        type.
        """
        match exp:
            case imp.Apply("add" | "sub" | "mul" as op, same, (left, right)) if same is prim:
                return (f"({self._modular(left, prim)} {_INFIX[op]} "
                        f"{self._modular(right, prim, cast=False)})")
        return f"({_MODULAR[prim]}){self.exp(exp)}" if cast else self.exp(exp)

    def _apply(self, op: str, prim: Prim, args: list[str], casted: Callable[[], str]) -> str:
        """An operation on these arguments; ``casted`` is all of them with their types."""
        if prim is Prim.F16:
            return self._apply_to_halves(op, args, casted)
        type_ = TYPES[prim]
        if prim is Prim.BOOL and op in ("and", "or"):
            return f"({args[0]} {_INFIX[op] * 2} {args[1]})"
        if op in _INFIX:
            text = f"({args[0]} {_INFIX[op]} {args[1]})"
            return f"({type_}){text}" if prim.bits < 32 and op not in ("eq", "lt", "le") else text
        if op == "not":
            return f"(!{args[0]})" if prim is Prim.BOOL else f"({type_})(~{args[0]})"
        if op == "neg":
            wide = f"({_MODULAR[prim]})" if prim in _MODULAR else ""
            return f"({type_})(-{wide}{args[0]})"
        if op == "bits" and prim is Prim.U16:
            return f"f16_of_bits({casted()})"
        if op == "bits":
            return f"as_{TYPES[SAME_BITS[prim]]}({casted()})"
        if prim.is_float:
            if op == "div":
                return f"({args[0]} / {args[1]})"
            if op in ("sgn", "sinpi", "cospi", "tanpi", "ldexp") or op.startswith("div_sqrt"):
                return f"{op}_{prim.value}({casted()})"
            return f"{_FUNCTIONS.get(op, op)}({casted()})"
        if op == "mul_hi":
            return f"mul_hi({casted()})"
        if op == "popc":
            return f"({type_})popcount({casted()})"
        if op == "clz":
            return f"({type_})clz({casted()})"
        return f"{op}_{prim.value}({', '.join(args)})"

    def _apply_to_halves(self, op: str, args: list[str], casted: Callable[[], str]) -> str:
        """An operation on f16: that on f32, and then rounding."""
        if op == "bits":
            return f"bits_of_f16({args[0]})"
        if op in _OF_HALVES:
            return f"{op}_f16({', '.join(args)})"
        text = self._apply(op, Prim.F32, args, casted)
        return text if op in _EXACT else f"near_f16({text})"


def _is_inside(exp: Exp) -> bool:
    """True for ``0 <= x and x < n``."""
    match exp:
        case imp.Apply("and", Prim.BOOL, (
                imp.Apply("le", Prim.I64, (imp.Lit() as zero, index)),
                imp.Apply("lt", Prim.I64, (same, _)))):
            return index == same and zero.const.value == 0
    return False


def is_branch_free(exp: Exp) -> bool:
    """True if an expression certainly compiles without a branch."""
    return all(isinstance(part, imp.Var | imp.Lit | imp.WorkItem | imp.Load)
               or (isinstance(part, imp.Apply) and part.op in _BRANCH_FREE)
               for part in subexpressions(exp))


def literal(const: Const) -> str:
    """A constant in C."""
    value, prim = const.value, const.prim
    if prim is Prim.BOOL:
        return "1" if value else "0"
    if prim.is_float:
        number = float(value)
        if number != number:
            return f"({TYPES[prim]})NAN"
        if number in (float("inf"), float("-inf")):
            return f"({TYPES[prim]})({'-' if number < 0 else ''}INFINITY)"
        if len(short := repr(number)) <= MOST_DIGITS and "e" not in short:
            return short if prim is Prim.F64 else f"{short}f"
        digits, exponent = number.hex().split("p")
        text = f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}p{exponent}"
        return text if prim is Prim.F64 else f"{text}f"
    if prim is Prim.I64:
        return "(-9223372036854775807L - 1)" if value == prim.least else f"{int(value)}L"
    if prim is Prim.U64:
        return f"{int(value)}UL"
    if prim is Prim.I32:
        return "(-2147483647 - 1)" if value == prim.least else str(int(value))
    if prim is Prim.U32:
        return f"{int(value)}U"
    return f"(({TYPES[prim]}){int(value)})"


def _convert(from_: Prim, to: Prim, arg: str) -> str:
    """C's conversion, made total as :func:`runelift.ir.meaning.convert` defines it."""
    if to is Prim.BOOL:
        return f"(uchar)({arg} != 0)"
    if from_.is_float and to.is_int:
        return f"{to.value}_of_{'f32' if from_ is Prim.F16 else from_.value}({arg})"
    if to is Prim.F16 and from_ is Prim.F64:
        return f"f16_of_f64({arg})"
    if to is Prim.F16 and from_ not in (Prim.F16, Prim.BOOL, Prim.I8, Prim.U8):
        return f"near_f16((float)({arg}))"
    return f"({TYPES[to]})({arg})"
