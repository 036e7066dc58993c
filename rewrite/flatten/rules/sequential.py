"""Code without parallelism at host level."""

from __future__ import annotations

from runelift.ir import syntax as ir
from runelift.ir.operators import is_identity
from runelift.ir.prim import Prim
from runelift.ir.traverse import statements_at_host
from runelift.ir.types import Type, array_of, i64, shape_of
from runelift.rewrite.engine.scope import whole
from runelift.rewrite.flatten.book import Unlike, flattening
from runelift.rewrite.flatten.parallelism import has_parallelism, is_atomic, scalar_operator
from runelift.rewrite.flatten.walk import Walk


@flattening("sequential", *ir.SOACS, ir.Accumulate, ir.Loop)
def sequential_at_top(walk: Walk, stm: ir.Stm, exp: ir.Exp) -> str | None:
    """∅ ⊢ e ⇒ segmap ⟨_ < 1⟩ e      e has no parallelism that a rule could use

    One work-item runs it, so that its scalar steps are not separate launches.  Loops over scalars
    alone stay where they are: their results may be sizes.
    """
    if walk.nest.space:
        return Unlike("it is inside of a nest")
    if isinstance(exp, ir.Loop):
        parallel = has_parallelism(ir.Body((stm,), ()))
        if parallel or walk.level is ir.Level.LOCAL or not _touches_arrays(exp):
            return Unlike("it has parallelism, or works on scalars alone")
    elif not _must_be_sequential(stm):
        return Unlike("no attribute and no operator forbids to run it in parallel")
    if not all(isinstance(p.type, Prim) or _known(p.type, stm) for p in stm.pat):
        return "a size of its result is known only when it has run"
    dim = ir.SegDim(walk.flattener.names.fresh("one"), i64(1))
    result = tuple(p.name for p in stm.pat)
    host = tuple(walk.fresh(p.name, array_of((i64(1),), p.type)) for p in stm.pat)
    kernel = walk.segmap((dim,), ir.Body((stm,), result), tuple(p.type for p in stm.pat))
    walk.flattener.derivation.fired("sequential", stm, "one work-item")
    walk.emit(ir.Stm(host, kernel, stm.attrs, stm.loc))
    for param, array in zip(stm.pat, host, strict=True):
        walk.emit(ir.Stm((param,),
                         ir.Index(array.name, (i64(0), *map(whole, shape_of(param.type)))),
                      loc=stm.loc))
    return None


def _touches_arrays(loop: ir.Loop) -> bool:
    """True if any statement inside reads or makes an array."""
    return any(isinstance(inner.exp,
                          ir.Index | ir.Update | ir.Concat | ir.Replicate | ir.Scatter | ir.Hist)
               or any(not isinstance(p.type, Prim) for p in inner.pat)
               for inner in statements_at_host(loop.body))


def _must_be_sequential(stm: ir.Stm) -> bool:
    """True if a SOAC has an operator that no segmented operation can run."""
    if "sequential" in stm.attrs:
        return True
    match stm.exp:
        case ir.Redomap(ops=ops, lam=lam) | ir.Scanomap(ops=ops, lam=lam):
            odd = [op for op in ops if not scalar_operator(op)]
            return bool(odd) and is_identity(lam) and not (len(ops) == 1 and ops[0].vector)
        case ir.Accumulate(ops=ops):
            return not all(map(is_atomic, ops))
        case ir.Hist(ops=ops):
            return any(not scalar_operator(op.op) for op in ops) and not (
                len(ops) == 1 and ops[0].op.vector)
    return False


def _known(type_: Type, stm: ir.Stm) -> bool:
    bound = {p.name for p in stm.pat}
    return all(size not in bound for size in shape_of(type_))
