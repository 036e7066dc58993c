"""A rewrite rule: integers form a lattice under min and max."""

from runelift.ir.syntax import AtomExp, PrimOp, Stm
from runelift.rewrite.engine.rule import Replacement, rule
from runelift.rewrite.engine.scope import Scope


@rule(PrimOp, ops=("min",))
def absorb_max(scope: Scope, stm: Stm) -> Replacement:
    """min x (max x y) ⇒ x

    Provided: the type is an integer type.
    Because: max x y is at least x.
    """
    match stm.exp:
        case PrimOp("min", prim, (x, y)) if prim.is_int:
            for one, other in ((x, y), (y, x)):
                match scope.exp(other):
                    case PrimOp("max", _, args) if one in args:
                        return AtomExp(one)
    return None
