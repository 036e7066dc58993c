"""The driver of flattening: tries the rules on a statement, and keeps their common state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from runelift.ir import syntax as ir
from runelift.ir.base.source import Loc
from runelift.ir.guards import Guard, Kind, Lengths
from runelift.ir.names import Names, VName
from runelift.ir.prim import Prim
from runelift.ir.ragged import Sharing
from runelift.ir.sizes import Size
from runelift.ir.traverse import bodies_of, lambdas_of, rename_body, rename_lambda
from runelift.ir.types import Atom, Type
from runelift.rewrite.flatten.book import FlatteningRule, Unlike
from runelift.rewrite.flatten.derivation import Derivation
from runelift.rewrite.flatten.lifted import Lifted
from runelift.rewrite.flatten.nest import Nest, show_nest
from runelift.rewrite.flatten.policy import Policy
from runelift.rewrite.flatten.walk import Walk

LEFT_OUT = "it is left out (--disable)"
"""The reason why a rule did not fire that the user does not want."""


@dataclass(slots=True)
class Numbering:
    """Counts the thresholds and sites of a function."""

    thresholds: int = 0
    sites: int = 0


@dataclass(slots=True)
class Flattener:
    """The common state of the rules while they flatten one function.

    ``level`` says where the emitted operations run: over the grid, or over the work-items of a
    group.  The latter is inside an intra version, where there are no guards.  Maps there have the
    kind ``within``: flat, or outer, with a work-item for each point.  ``alone`` is set where that
    made a difference.

    ``sharing`` says who executes the elements of segments, whose lengths differ.
    ``checked`` are definitions whose failures are looked for apart.  ``lifted`` are the functions
    that are made for many points at once, by their names in the program.

    Rules that are ``disabled`` by the user do not fire, and say so.  Rules that are
    ``unwanted`` here are not tried.
    """

    fun: str
    names: Names
    policy: Policy
    derivation: Derivation
    rules: Mapping[type, tuple[FlatteningRule, ...]]
    level: ir.Level = ir.Level.GRID
    types: dict[VName, Type] = field(default_factory=dict)
    host_defs: dict[VName, ir.Stm] = field(default_factory=dict)
    learned: dict[int, ir.Body] = field(default_factory=dict)
    numbering: Numbering = field(default_factory=Numbering)
    disabled: frozenset[str] = frozenset()
    unwanted: frozenset[str] = frozenset()
    within: Kind = Kind.FLAT
    alone: bool = False
    sharing: Sharing = Sharing.MERGE
    checked: set[VName] = field(default_factory=set)
    lifted: dict[VName, Lifted] = field(default_factory=dict)

    def inside_group(self, within: Kind = Kind.FLAT) -> Flattener:
        """The flattener for the body of an intra version, with maps of a kind."""
        return replace(self, level=ir.Level.LOCAL, within=within, alone=False)

    def body(self, nest: Nest, body: ir.Body, ret: Iterable[Type] | None = None
             ) -> tuple[ir.Body, int]:
        """``Σ ⊢ body``: the statements outside of Σ, with expanded results.

        Also the number of statements that were run in parallel separately.  The results have the
        types ``ret``, if given.  The types of ``body`` itself may have sizes that equal these, but
        are computed inside of Σ.
        """
        if ret is not None and nest.space:
            self.learn_atoms(body.result, ret)
        walk = Walk(self, nest)
        result = walk.body(body)
        found = ir.Body(tuple(walk.out), result)
        self.learned[id(found)] = found  # each statement as it was emitted
        return found, walk.parallel

    def apply_rules(self, walk: Walk, stm: ir.Stm) -> str | None:
        """Apply the first rule that fires on ``stm`` and name it; None if it stays sequential."""
        rules = [rule for rule in self.rules.get(type(stm.exp), ())
                 if self.unwanted.isdisjoint((rule.name, rule.title))]
        unlike = list[tuple[str, str]]()
        for number, rule in enumerate(rules, 1):
            since, emitted, nest = len(self.derivation.steps), len(walk.out), walk.nest
            is_left_out = not self.disabled.isdisjoint((rule.name, rule.title))
            why = LEFT_OUT if is_left_out else rule.apply(walk, stm, stm.exp)
            if why is None:
                self.derivation.became(since, rule.name, walk.out[emitted:], show_nest(nest),
                                       unlike, [each.title for each in rules[number:]])
                return rule.name
            if isinstance(why, Unlike):
                unlike.append((rule.title, why))
            else:
                self.derivation.refused(rule.name, stm, why)
        return None

    # Names and types

    def learn(self, stm: ir.Stm) -> None:
        """Remember the types that ``stm`` binds, also inside, and its definition."""
        for param in stm.pat:
            self.types[param.name] = param.type
            self.host_defs[param.name] = stm
        self.learn_exp(stm.exp)

    def learn_exp(self, exp: ir.Exp) -> None:
        """Remember the types that ``exp`` binds inside."""
        if isinstance(exp, ir.Loop | ir.Recursion):
            self.learn_params(p.param for p in exp.params)
        if isinstance(exp, ir.Loop) and isinstance(exp.form, ir.ForLoop):
            self.types[exp.form.index] = Prim.I64
        for lam in lambdas_of(exp):
            self.learn_lambda(lam)
        for body in bodies_of(exp):
            self.learn_body(body)

    def learn_body(self, body: ir.Body) -> None:
        """Remember the types that ``body`` binds."""
        if self.learned.get(id(body)) is body:
            return
        for stm in body.stms:
            self.learn(stm)

    def learn_lambda(self, lam: ir.Lambda) -> None:
        """Remember the types that ``lam`` binds."""
        self.learn_params(lam.params)
        self.learn_body(lam.body)

    def learn_params(self, params: Iterable[ir.Param]) -> None:
        """Remember the types of ``params``."""
        self.types.update((p.name, p.type) for p in params)

    def learn_atoms(self, atoms: Iterable[Atom], types: Iterable[Type]) -> None:
        """Remember the types of the names among ``atoms``."""
        self.types.update((atom, type_) for atom, type_ in zip(atoms, types, strict=True)
                          if isinstance(atom, VName))

    def fresh(self, base: str | VName, type_: Type) -> ir.Param:
        """A new name of a type."""
        param = ir.Param(self.names.fresh(base), type_)
        self.learn_params([param])
        return param

    def copies(self, params: Iterable[ir.Param]) -> tuple[ir.Param, ...]:
        """Names of the same types."""
        return tuple(self.fresh(p.name, p.type) for p in params)

    def copy_lambda(self, lam: ir.Lambda) -> ir.Lambda:
        """``lam`` with fresh names, for a further version."""
        fresh = rename_lambda(lam, self.names)
        self.learn_lambda(fresh)
        return fresh

    def copy_body(self, body: ir.Body) -> ir.Body:
        """``body`` with fresh names, for a further version."""
        fresh = rename_body(body, self.names)
        self.learn_body(fresh)
        return fresh

    def copy_operators(self, ops: tuple[ir.Operator, ...]) -> tuple[ir.Operator, ...]:
        """The operators with fresh names in their lambdas."""
        return tuple(ir.Operator(self.copy_lambda(op.lam), op.neutral, op.comm) for op in ops)

    def fresh_kernel(self, space: ir.Space, body: ir.Body) -> tuple[ir.Space, ir.Body]:
        """A space and the body over it, with fresh names for all they bind."""
        lam = ir.Lambda(tuple(ir.Param(dim.index, Prim.I64) for dim in space), body, ())
        fresh = self.copy_lambda(lam)
        dims = zip(fresh.params, space, strict=True)
        return tuple(ir.SegDim(p.name, dim.extent) for p, dim in dims), fresh.body

    # Versions

    def site(self) -> str:
        """A name for a ``Versions`` node."""
        self.numbering.sites += 1
        return f"{self.fun}.versions_{self.numbering.sites - 1}"

    def guard(self, stm: ir.Stm, kind: Kind, depth: int, par: Size,
              lengths: Lengths | None = None) -> Guard:
        """A guard for a version of ``stm``; numbered in order of creation, outermost first."""
        suffix = {Kind.OUTER: "suff_outer_par", Kind.INTRA: "suff_intra_par",
                  Kind.REDOMAP: "suff_outer_redomap", Kind.FLAT: "flat",
                  Kind.ROW: "suff_row", Kind.LANES: "suff_lanes", Kind.GROUP: "suff_group",
                  Kind.SLABS: "suff_slabs"}[kind]
        name = f"{self.fun}.{suffix}_{self.numbering.thresholds}"
        self.numbering.thresholds += 1
        place = _place(stm.loc)
        key = f"{self.fun}@{place}/{kind.value}/{depth}"
        return Guard(name, key, kind, par, lengths=lengths)


def _place(loc: Loc | None) -> str:
    return f"{loc.line}:{loc.column}" if loc else "?"


def flatten_fun(fun: ir.Fun, flattener: Flattener) -> ir.Fun:
    """``∅ ⊢ fun``: the function with segmented operations and versions at host level."""
    flattener.learn_params(fun.params)
    flattener.learn_body(fun.body)
    body, _ = flattener.body(Nest(), fun.body)
    return replace(fun, body=body)
