"""Executables: a plan on one device, as functions of ``rt`` with the kernels that they launch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from runelift.codegen.cost.totals import ENTRY
from runelift.codegen.plan.fact_uses import decides
from runelift.codegen.plan.parameters import Parameter
from runelift.codegen.plan.plan import AllocScanStatus, Plan, Recursion, all_steps
from runelift.codegen.plan.plan import parameters as plan_parameters
from runelift.codegen.plan.shapes import Shape
from runelift.codegen.plan.write_sets import given_elements, given_lengths
from runelift.ir.guards import Kind
from runelift.ir.names import VName
from runelift.ir.ragged import Fact
from runelift.runtime.cost.device_costs import DeviceCosts, costs_of
from runelift.runtime.cost.predictor import Formulas, Predictor, loaded
from runelift.runtime.devices import forked
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.kernel import BoundKernel
from runelift.runtime.execution.decision_cache import DecisionCache
from runelift.runtime.execution.kernels import Kernels
from runelift.runtime.execution.plan_forms import PlanForms
from runelift.runtime.execution.policy import BuildWatch, CallPolicy
from runelift.runtime.execution.sources import cost_text
from runelift.runtime.geometry.launch_geometry import LaunchGeometry, default_of
from runelift.runtime.records.recorder import EncounterKind

if TYPE_CHECKING:
    from runelift.codegen.plan.origins import Origins
    from runelift.runtime.geometry.parameter_space import ParameterSpace, Setting
    from runelift.runtime.memory.memory_guard import MemoryGuard


class Executable:
    """A plan on one device: its ``forms``, its ``kernels``, and decisions of its runs.

    ``contract``, ``kept`` and ``origins`` are for the texts of kernels
    (:class:`~runelift.runtime.execution.kernels.Kernels`).
    """

    def __init__(self, plan: Plan, device: Device, *, contract: bool = False,
                 kept: dict[Hashable, str] | None = None, origins: Origins | None = None) -> None:
        forked.keep(self)
        self.waits_long = True
        """The last wait for the device was long, or there was none."""
        self.plan = plan
        self.device = device
        self.forms = PlanForms(plan)
        self.generated = self.forms.generated
        steps = list(all_steps(plan.steps))
        self.recursive = any(isinstance(step, Recursion) for step in steps)
        """The plan has functions that call themselves."""
        if any(isinstance(step, AllocScanStatus) for step in steps):
            device.probe_forward_progress()
        if any(isinstance(step, Shape) and step.needs_subgroups for step in steps):
            device.probe_subgroups()
        self.kernels = Kernels(self.generated, device, contract=contract, kept=kept,
                               origins=origins)
        self.sites = self.kernels.sites
        self.follow(CallPolicy())
        self.infeasible: dict[str, str] = {}
        self.given_up: dict[str, str] = {}
        """Versions that could not run some time, ``site/index``, and the last reason."""
        self.encounter_kinds: dict[tuple[Any, ...], EncounterKind] = {}
        """The kinds of encounters in records."""
        self.launched: set[tuple[BoundKernel, int, bool]] = set()
        """Kernels and sizes that runs with records have launched, or all runs of who measures."""
        self.geometry = LaunchGeometry(device)
        self.decisions = DecisionCache(self._settings)
        self._deciding: dict[tuple[int, int], frozenset[Fact]] = {}
        self._whole_costs: dict[frozenset[VName], tuple[
            Callable[..., None], tuple[VName, ...]]] = {}
        self.memory: MemoryGuard | None = None
        """Decides which versions need too much memory."""

    def follow(self, policy: CallPolicy) -> None:
        """Follow this policy from now on; on a host's processor, no launches are fused.

        Who measures hears of the first launches of kernels, where these compile.
        """
        self.policy = self.kernels.policy = policy
        self.may_fuse = policy.may_fuse and not self.device.info.is_host
        self.watches_launches = policy.captures_first and self.device.info.is_pocl

    @property
    def watch(self) -> BuildWatch:
        """The watch of builds, as the policy says."""
        return self.policy.watch

    @property
    def build_seconds(self) -> float:
        """The seconds that builds of kernels have taken so far."""
        return self.kernels.build_seconds

    def make_ready(self, programs: Iterable[tuple[str, ...]]) -> None:
        """Build these programs of kernels, given by texts and further options."""
        self.kernels.make_ready(programs)

    @cached_property
    def predictor(self) -> Predictor:
        """Predicts the times of versions on the device."""
        given = self.device.costs
        costs = costs_of(self.device.info) if given is None else DeviceCosts(**given)
        return Predictor(self.generated.sites, Formulas(self.plan.works), self.device.info,
                         self.geometry, costs)

    def deciding_facts(self, number: int, version: int, names: Sequence[VName]) -> frozenset[Fact]:
        """The facts, by their names, that decide what runs with a version at a site do."""
        if (number, version) not in self._deciding:
            site = self.generated.sites[number]
            merging = site.versions[version].kind is Kind.MERGE
            self._deciding[number, version] = frozenset(
                fact for fact, name in zip(Fact, names, strict=False)
                if decides(self.plan, site.site, version, name,
                           merging=merging and fact is Fact.TOTAL))
        return self._deciding[number, version]

    @cached_property
    def given_lengths(self) -> frozenset[VName]:
        """The parameters with lengths that decide, if their elements are known."""
        return given_lengths(self.plan)

    @cached_property
    def given_elements(self) -> frozenset[VName]:
        """The parameters whose elements the host reads, if they are known."""
        return given_elements(self.plan)

    def whole_cost(self, lengths: frozenset[VName]
                   ) -> tuple[Callable[..., None], tuple[VName, ...]]:
        """The function that computes the cost of a whole call, and what it takes.

        The elements of ``lengths`` are known.
        """
        if (found := self._whole_costs.get(lengths)) is None:
            text, facts = cost_text(self.plan, self.predictor.formulas.texts, lengths)
            found = self._whole_costs[lengths] = loaded(text, self.plan.entry)[ENTRY], facts
        return found

    @cached_property
    def spaces(self) -> dict[str, ParameterSpace]:
        """The settings that each operation can have."""
        # late: start-up; runs without settings of parameters do without
        from runelift.runtime.geometry.parameter_space import spaces

        return spaces(self.plan, self.device.info)

    @cached_property
    def _parameters(self) -> Sequence[Parameter]:
        return plan_parameters(self.plan.steps)

    @cached_property
    def _defaults(self) -> Setting:
        return tuple(default_of(each.quantity, self.device.info) for each in self._parameters)

    def _settings(self, chosen: Mapping[str, int]) -> Setting:
        """The values of all parameters; an operation without a possible setting has its default."""
        if any(each.name in chosen for each in self._parameters):
            return tuple(value for space in self.spaces.values()
                         for value in space.in_force(chosen))
        return self._defaults
