"""Names of sizes for people: names in the source, or the expressions that compute the sizes.

The compiler names intermediate results; ``t_233`` says nothing to the author of ``n / 32 - i - 1``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from runelift.ir.guards import Guard
from runelift.ir.names import VName
from runelift.ir.sizes import Size
from runelift.ir.syntax import AtomExp, Body, Fun, Index, LengthFacts, PrimOp, Stm
from runelift.ir.traverse import bodies_of
from runelift.ir.types import Atom, Const

TEMPORARY = frozenset({"t", "r", "x"})
"""The compiler's names for results of expressions, of choices or reductions, and of indexing."""
LONGEST = 40
"""The most characters of a shown expression; of a longer expression the place is shown."""
SUMS = {"add": "+", "sub": "-"}
PRODUCTS = {"mul": "*", "div": "/", "quot": "/", "mod": "%", "rem": "%"}

Shown = Mapping[str, str]
"""The text to show instead of a name."""


def shown_sizes(fun: Fun, guards: Iterable[Guard] = ()) -> dict[str, str]:
    """The texts for the temporary names in an entry point, by name.

    Facts about lengths that have one name in a guard get that of the lengths, too: ``total(a)``.
    """
    shown: dict[str, str] = {}
    facts, owners = dict[VName, VName](), dict[VName, VName]()
    for stm in _statements(fun.body):
        match stm:
            case Stm((param,), LengthFacts(lengths)):
                facts[param.name] = lengths
            case Stm((param,), Index(array, (Const(),))) if array in facts:
                owners[param.name] = facts[array]
        if len(stm.pat) == 1 and (name := stm.pat[0].name).base in TEMPORARY:
            text = _expression(stm, shown)
            if (text is None or len(text) > LONGEST) and stm.loc is not None:
                text = f"the size at {stm.loc.line}:{stm.loc.column}"
            if text is not None:
                shown[str(name)] = text
    for guard in guards:
        names = {name for size in guard.sizes() for name in size.variables()}
        texts = Counter(show_name(str(name), shown) for name in names)
        for name in sorted(names & owners.keys(), key=lambda name: name.tag):
            if texts[name.base] > 1:
                shown[str(name)] = f"{name.base}({show_name(str(owners[name]), shown)})"
    return shown


def show_name(name: str, shown: Shown) -> str:
    """The text for a name.

    >>> show_name("t_5", {"t_5": "n + 1"}), show_name("n_181", {}), show_name("main.p_0", {})
    ('n + 1', 'n', 'main.p_0')
    """
    if name in shown:
        return shown[name]
    base, _, tag = name.rpartition("_")
    return base if base and tag.isdigit() and "." not in base else name


def simple_name(name: VName, shown: Shown) -> str:
    """The text for a name, if that is no sum and no quotient; else the name of the compiler."""
    text = show_name(str(name), shown)
    return text if _factor(text) == text else name.base


def show_size(size: Size, shown: Shown) -> str:
    """A size in words of the source."""
    match size.terms:
        case (((VName() as name,), 1),):  # nothing else that it could be confused with
            return show_name(str(name), shown)
    return size.render(lambda name: _factor(show_name(str(name), shown)))


def _statements(body: Body) -> Iterator[Stm]:
    for stm in body.stms:
        yield stm
        for inner in bodies_of(stm.exp):
            yield from _statements(inner)


def _expression(stm: Stm, shown: Shown) -> str | None:
    """The expression of a statement; None if it is not arithmetic."""
    match stm.exp:
        case AtomExp(atom):
            return _operand(atom, shown)
        case PrimOp(op, _, (left, right)) if op in SUMS:
            further = _operand(right, shown)
            if op == "sub" and any(f" {sign} " in further for sign in SUMS.values()):
                further = f"({further})"
            return f"{_operand(left, shown)} {SUMS[op]} {further}"
        case PrimOp(op, _, (left, right)) if op in PRODUCTS:
            one, other = (_operand(each, shown) for each in (left, right))
            return _factor(one) + PRODUCTS[op] + _factor(other)
        case PrimOp("min" | "max" as op, _, (left, right)):
            return f"{op}({_operand(left, shown)}, {_operand(right, shown)})"
    return None


def _factor(text: str) -> str:
    """An expression as a factor of a product.

    >>> _factor("n*m"), _factor("n + 1"), _factor("n/32")
    ('n*m', '(n + 1)', '(n/32)')
    """
    return f"({text})" if set(text) & set(" /%") else text


def _operand(atom: Atom, shown: Shown) -> str:
    return show_name(str(atom), shown) if isinstance(atom, VName) else str(atom.value)
