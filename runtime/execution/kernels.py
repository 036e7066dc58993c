"""Kernels of a plan on one device: their texts, their builds, and programs that are being loaded.

Kernels are built when the version they belong to first runs, one OpenCL program per version.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyopencl as cl

from runelift.codegen.emit.phases import FUSED_KERNEL, PERSISTENT_KERNEL, PersistentKernel
from runelift.codegen.emit.python import Generated
from runelift.codegen.emit.signatures import (
    function_names,
    is_free,
    parameters,
    shared_functions,
    subgroups_of,
    uses_subgroups,
)
from runelift.codegen.plan.plan import Launch
from runelift.ir import imp
from runelift.ir.base.errors import CompilerLimitation
from runelift.ir.imp.traverse import has_barriers
from runelift.ir.names import VName
from runelift.runtime.cache import disk
from runelift.runtime.devices.build import (
    Infeasible,
    build_program,
    build_request,
    cache_name,
    quietly,
)
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.driver.build import KERNELS
from runelift.runtime.devices.first_launch import launch_until_begun
from runelift.runtime.devices.kernel import BoundKernel, hold_in
from runelift.runtime.execution import persistent_loops
from runelift.runtime.execution.loop_scalars import scalar_type
from runelift.runtime.execution.policy import BuildOutside, CallPolicy
from runelift.runtime.execution.sources import persistent_text, program_text

if TYPE_CHECKING:
    from runelift.codegen.plan.origins import Origins

GID, GSIZE = imp.WorkItem(imp.Id.GLOBAL_ID), imp.WorkItem(imp.Id.GLOBAL_SIZE)


@dataclass(slots=True)
class KernelSite:
    """A kernel launch of the plan, prepared once.

    ``types`` holds the NumPy type of each parameter, None for a buffer.
    """

    launch: Launch
    version: str
    fallible: bool
    types: tuple[type[np.generic] | None, ...]
    kernel: BoundKernel | None = None
    variants: dict[tuple[int, ...], BoundKernel | None] = field(default_factory=dict)
    _free: bool | None = None
    _reduces: bool | None = None

    def kind(self) -> tuple[str, ...]:
        """The names of constants; kernels of a kind are mostly built for the same values."""
        return tuple(name.base for name in self.launch.kernel.built_for)

    def reduces(self) -> bool:
        """True if building fixes the sizes of groups and of sub-groups only."""
        if self._reduces is None:
            kernel = self.launch.kernel
            self._reduces = (len(kernel.constants) == 2 and kernel.group is not None
                             and kernel.constants[1] in subgroups_of(kernel))
        return self._reduces

    def is_single(self, values: tuple[int, ...]) -> bool:
        """True if work-items of a map loop over no points that lie side by side, by default."""
        kernel = self.launch.kernel
        return kernel.width is not None and values[0] == 1 and not any(
            values[len(kernel.constants):])

    def free(self) -> bool:
        """True if the kernel can run in groups of another size than it is launched in."""
        if self._free is None:
            self._free = is_free(self.launch.kernel)
        return self._free


def goes_through_points(kernel: imp.Kernel) -> bool:
    """True if a work-item computes several points in turn, as its arrays are in scratch memory.

    Such a kernel mostly waits for memory.  More work-items that run at a time hide that.
    """
    return any(isinstance(stm, imp.For) and stm.start == GID and stm.step == GSIZE
               for stm in kernel.body)


def _site(launch: Launch, version: str) -> KernelSite:
    kernel = launch.kernel
    types = tuple(None if isinstance(p, imp.BufferParam) else scalar_type(p.prim)
                  for p in parameters(kernel))
    return KernelSite(launch, version, bool(kernel.failures), types)


@dataclass(frozen=True, slots=True)
class _KernelSet:
    """A program of a version's kernels, or of one launch's kernel if it has ``constants``."""

    version: str
    number: int | None = None
    constants: tuple[int, ...] = ()


NeededKernels: TypeAlias = _KernelSet | PersistentKernel
"""Kernels that have to be built before a launch."""


class Kernels:
    """The kernels of a plan on one device.

    ``contract``: the device may round ``a * b + c`` once instead of twice.  ``kept`` has texts of
    this plan's kernels that are known already, and gets the texts written here.  With ``origins``,
    lines of kernels have their places in the source.
    """

    def __init__(self, generated: Generated, device: Device, *, contract: bool,
                 kept: dict[Hashable, str] | None, origins: Origins | None) -> None:
        self.device = device
        self.policy = CallPolicy()
        self.sites = [_site(launch, version) for launch, version in zip(
            generated.launches, generated.launch_versions, strict=True)]
        self.failures: list[imp.Failure] = []
        self.bases: dict[str, int] = {}
        for site in self.sites:
            self.bases[site.launch.kernel.name] = len(self.failures)
            self.failures += site.launch.kernel.failures
        self.failures.append(imp.Failure(persistent_loops.BARRIER_FAILURE))
        self._built: set[str] = set()
        self._ready: dict[tuple[str, ...], Any] = {}
        self._loading: dict[tuple[str, ...], Future[Any]] = {}
        self._persistent: dict[tuple[Any, ...], BoundKernel | None] = {}
        self._fused: dict[str, BoundKernel | None] = {}
        self._programs: dict[BoundKernel, tuple[str, ...]] = {}
        """The programs of kernels that plans launch, each a text and all options."""
        self._texts: dict[Hashable, str] = {}
        self._kept = {} if kept is None else kept
        self._origins = origins
        self.build_seconds = 0.0
        contraction = ["-DCONTRACT"] if contract else []
        self.options = [*device.build_options, *contraction]
        self.options_without = [*device.info.build_options, *contraction]
        """The options of kernels for which a compiler has chosen unusual sub-groups."""

    def wanted(self, number: int, constants: tuple[int, ...]) -> _KernelSet:
        """The kernels that a launch needs."""
        site = self.sites[number]
        if not site.launch.kernel.constants and not any(constants):
            return _KernelSet(site.version)
        return _KernelSet(site.version, number, constants)

    def prepare(self, wanted: Iterable[NeededKernels], outside: BuildOutside | None = None) -> None:
        """Build kernels that will be needed, several programs at a time.

        A program that does not build is left for the run that needs it, which reports the error.
        """
        self.make_ready((source for each in wanted
                         if (source := self._source_of(each)) is not None), outside)

    def make_ready(self, programs: Iterable[tuple[str, ...]],
                   outside: BuildOutside | None = None) -> None:
        """Build these programs, given by texts and further options.

        Other processes build them by way of ``outside``, or else as the policy says.
        """
        outside = outside or self.policy.outside
        sources = dict.fromkeys(programs)
        self._take_loaded(sources.keys() & self._loading.keys())
        missing = [source for source in sources if source not in self._ready]
        alone = len(missing) < 2 or self.device.info.builders == 1 or self.policy.builds_alone
        if not missing or (alone and outside is None):
            return
        started = time.perf_counter()
        if outside is not None:
            self._build_outside(missing, outside)
        with quietly(), ThreadPoolExecutor(self.device.info.builders) as pool:
            for source, program in zip(missing, pool.map(self._built_or_none, missing),
                                       strict=True):
                if program is not None:
                    self._ready[source] = program
        self.build_seconds += time.perf_counter() - started

    def foresee(self, wanted: Iterable[NeededKernels]) -> tuple[list[tuple[str, ...]], bool]:
        """Have other processes begin to build kernels that will be needed.

        A thread begins to load the programs that are in the cache.  The result is all programs,
        and True if there is anything to build.
        """
        sources = list(dict.fromkeys(source for each in wanted
                                     if (source := self._source_of(each)) is not None))
        outside = self.policy.outside
        unknown = self._build_outside(sources, outside, waits=False)
        self._load(source for source in sources if source not in unknown)
        return sources, bool(unknown) and outside is not None

    def load_ahead(self, sources: Sequence[tuple[str, ...]]) -> bool:
        """Begin to load programs if all of them are in the cache."""
        if not all(map(self.is_built, sources)):
            return False
        self._load(sources)
        return True

    def texts(self, sources: Iterable[tuple[str, ...]]) -> dict[Hashable, str]:
        """The texts of these programs by their keys, for :meth:`recall`."""
        some = {source[0] for source in sources}
        return {key: text for key, text in self._texts.items() if text in some}

    def recall(self, texts: Mapping[Hashable, str]) -> None:
        """Take texts that were written for the same plan before."""
        self._texts.update(texts)

    def is_built(self, source: tuple[str, ...]) -> bool:
        """True if a program is in the cache."""
        return disk.exists(KERNELS, cache_name(self.device.info, *self._whole(source)))

    def driver_texts(self, sources: Iterable[tuple[str, ...]]) -> list[tuple[str, str]]:
        """The texts and options by which the driver builds these programs, where known."""
        texts = [build_request(self.device.info, *self._whole(source)) for source in sources]
        return [each for each in texts if each is not None]

    def finish_loading(self) -> None:
        """Wait for the programs that are being loaded."""
        self._take_loaded(list(self._loading))

    def _take_loaded(self, sources: Iterable[tuple[str, ...]]) -> None:
        for source in sources:
            if (program := self._loading.pop(source).result()) is not None:
                self._ready[source] = program

    def _load(self, sources: Iterable[tuple[str, ...]]) -> None:
        for source in sources:
            if source not in self._ready and source not in self._loading:
                self._loading[source] = self._loader.submit(self._built_or_none, source)

    @cached_property
    def _loader(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1, "loader")

    def _build_outside(self, missing: Sequence[tuple[str, ...]], outside: BuildOutside | None,
                       waits: bool = True) -> Set[tuple[str, ...]]:
        """Have other processes build the programs that are not in the cache.

        The result is these programs.
        """
        whole = {source: self._whole(source) for source in missing}
        unknown = {source: each for source, each in whole.items()
                   if disk.load(KERNELS, cache_name(self.device.info, *each)) is None}
        if unknown and outside is not None:
            outside(list(unknown.values()), waits)
        return unknown.keys()

    def _whole(self, source: tuple[str, ...]) -> tuple[str, ...]:
        """The text of a program and all its build options."""
        return source[0], *self.options, *source[1:]

    def _built_or_none(self, source: tuple[str, ...]) -> Any:
        try:
            return self._made(*source, needed=False)
        except Infeasible:
            return None

    def _source_of(self, wanted: NeededKernels) -> tuple[str, ...] | None:
        """The text and further options of a program, if it is to be built yet."""
        if isinstance(wanted, PersistentKernel):
            there = wanted.key in self._persistent
        elif wanted.number is None:
            there = wanted.version in self._built
        else:
            there = wanted.constants in self.sites[wanted.number].variants
        return None if there else self.source_of(wanted)

    def source_of(self, wanted: NeededKernels) -> tuple[str, ...] | None:
        """The text and options of a kernel program; None if there is no such program."""
        if isinstance(wanted, PersistentKernel):
            return self._persistent_source(wanted)
        if wanted.number is None:
            return self._source(self._sites_of(wanted.version), {})
        return self._source(*self._together(self.sites[wanted.number], wanted.constants))

    def _sites_of(self, version: str) -> list[KernelSite]:
        """The launches of a version whose kernels are built for all sizes."""
        return [s for s in self.sites if not s.launch.kernel.constants
                and (s.version == version or self.policy.all_versions)]

    def build(self, version: str) -> None:
        """Build the kernels of a version."""
        if version in self._built:
            return
        sites = self._sites_of(version)
        sites = self._build_some(sites, {}, [site for site in sites if site.version == version])
        for site in sites:
            site.variants[(0,) * len(site.launch.kernel.settings)] = site.kernel
        self._built.update((version, *(site.version for site in sites)))

    def specialise(self, site: KernelSite, values: tuple[int, ...]) -> None:
        """Build the site's kernel for these values."""
        kernel = site.launch.kernel
        if not kernel.constants and not any(values):
            self.build(site.version)
        else:
            sites, constants = self._together(site, values)
            for each in self._build_some(sites, constants, [site]):
                own = tuple(constants[name] for name in each.launch.kernel.built_for)
                each.variants[own] = each.kernel

    def _build_some(self, sites: list[KernelSite], constants: Mapping[VName, int],
                    needed: list[KernelSite]) -> list[KernelSite]:
        """Build kernels in one program; only the needed kernels if that fails for all versions.

        The result is the launches whose kernels are built.
        """
        try:
            self._build(sites, constants)
        except Infeasible:
            if len(needed) == len(sites) or not self.policy.all_versions:
                raise
            self._build(needed, constants)
            return needed
        return sites

    def _together(self, site: KernelSite, values: tuple[int, ...]
                  ) -> tuple[list[KernelSite], dict[VName, int]]:
        """The launches whose kernels are built with one that is built for these values.

        Without sub-groups most reductions of a version have groups of the same size.  Maps with a
        point for each work-item are built together too, where processes would not share the work.
        """
        sites, kernel = [site], site.launch.kernel
        if self.policy.all_versions:
            return self._together_in_all_versions(site, values)
        if site.is_single(values) and not self.device.info.locked_compiler:
            sites = [each for each in self.sites if each.version == site.version
                     and each.launch.kernel.width is not None
                     and len(each.launch.kernel.constants) == len(kernel.constants)]
            return sites, {name: value for each in sites for name, value in (
                *zip(each.launch.kernel.constants, values, strict=False),
                *((name, 0) for name in each.launch.kernel.settings))}
        if self.device.shuffles is None and site.reduces() and not any(
                values[len(kernel.constants):]):
            sites = [each for each in self.sites if each.version == site.version
                     and each.reduces() and len(each.launch.kernel.built_for) == len(values)]
        return sites, {name: value for each in sites for name, value in zip(
            each.launch.kernel.built_for, values, strict=True)}

    def _together_in_all_versions(self, site: KernelSite, values: tuple[int, ...]
                                  ) -> tuple[list[KernelSite], dict[VName, int]]:
        """The launches of all versions that are built with a kernel that is built for these values.

        Kernels of other kinds are built for the values that the first kernel of a kind was built
        for.  Where long programs with barriers are not optimised, kernels with barriers are alone.
        """
        limited = self.device.info.optimised_size < math.inf
        self.device.usual.setdefault(site.kind(), values)
        guessed = {**self.device.usual, site.kind(): values}
        constants = dict(zip(site.launch.kernel.built_for, values, strict=True))
        if limited and has_barriers(site.launch.kernel.body):
            return [site], constants
        sites = [site]
        for each in self.sites:
            own = guessed.get(each.kind())
            if own is None or own in each.variants or each is site or (
                    limited and has_barriers(each.launch.kernel.body)):
                continue
            of_each = dict(zip(each.launch.kernel.built_for, own, strict=True))
            if all(constants.get(name, value) == value for name, value in of_each.items()):
                constants |= of_each  # kernels of two kinds may have a constant in common
                sites.append(each)
        return sites, constants

    def persistent(self, kernel: PersistentKernel) -> BoundKernel | None:
        """The kernel that runs iterations of a loop; None if it does not build."""
        key = kernel.key
        if key not in self._persistent:
            self._persistent[key] = self._build_persistent(kernel)
        return self._persistent[key]

    def _build_persistent(self, kernel: PersistentKernel) -> BoundKernel | None:
        source = self._persistent_source(kernel)
        if source is None:
            return None
        started = time.perf_counter()
        try:
            built = cl.Kernel(self._program(*source, needed=False), PERSISTENT_KERNEL)
        except Infeasible:
            return None
        types = [np.uint32, np.int64, np.int64, *[None] * kernel.buffers,
                 *map(scalar_type, kernel.scalars), *[np.int64] * len(kernel.phases),
                 *[None] * (kernel.cond is not None)]
        bound = BoundKernel(built, (*self.device.failure, self.device.arrived), types)
        self._programs[bound] = self._whole(source)
        self.build_seconds += time.perf_counter() - started
        return bound

    def fused(self, source: str, types: Sequence[type[np.generic] | None]) -> BoundKernel | None:
        """The fused kernel with this source and these arguments; None if it does not build."""
        if source not in self._fused:
            started = time.perf_counter()
            try:
                kernel = cl.Kernel(self._program(source, needed=False), FUSED_KERNEL)
                self._fused[source] = BoundKernel(kernel, self.device.failure, types) if (
                    self._in_subgroups(kernel)) else None
            except Infeasible:
                self._fused[source] = None
            self.build_seconds += time.perf_counter() - started
        return self._fused[source]

    def _persistent_source(self, kernel: PersistentKernel) -> tuple[str, ...] | None:
        try:
            source = self._once(kernel.key, lambda: persistent_text(
                kernel, self.bases, len(self.failures) - 1))
        except CompilerLimitation:
            return None
        return source, *self.device.info.occupancy_options

    def _source(self, sites: Sequence[KernelSite], constants: Mapping[VName, int]
                ) -> tuple[str, ...]:
        """The text of the program of some kernels, and its further options."""
        waits = any(goes_through_points(site.launch.kernel) for site in sites)
        options = self.device.info.occupancy_options if waits else ()
        return self._text(sites, constants), *options

    def _text(self, sites: Sequence[KernelSite], constants: Mapping[VName, int]) -> str:
        kernels = {s.launch.kernel.name: s.launch.kernel for s in sites}.values()
        key = tuple(kernel.name for kernel in kernels), tuple(constants.items())
        text = self._once(key, lambda: self._kept.get(key) or program_text(
            kernels, self.bases, constants, functions=self._functions(key[0]),
            origins=self._origins))
        self._kept[key] = text
        return text

    def _functions(self, kernels: Iterable[str]) -> Mapping[str, str]:
        """The names of kernels in a program; a simulator's reports tell kernels by full names."""
        return {} if self.device.info.is_simulator else function_names(kernels)

    def _once(self, key: Hashable, text: Callable[[], str]) -> str:
        """The text under ``key``, which is made by ``text`` when it is first needed."""
        if key not in self._texts:
            self._texts[key] = text()
        return self._texts[key]

    def _build(self, sites: Sequence[KernelSite], constants: Mapping[VName, int]) -> None:
        source = self._source(sites, constants)
        started = time.perf_counter()
        program = self._program(*source)
        names = self._functions(site.launch.kernel.name for site in sites)
        shared = shared_functions(source[0])
        for site in sites:
            name = site.launch.kernel.name
            function = names.get(name, name)
            kernel = cl.Kernel(program, shared.get(function, function))
            if not self._in_subgroups(kernel) and uses_subgroups(site.launch.kernel):
                kernel = cl.Kernel(self._without_subgroups(site, constants),
                                   self._functions([name]).get(name, name))
            site.kernel = BoundKernel(kernel, self.device.failure, site.types)
            self._programs[site.kernel] = self._whole(source)
        self.build_seconds += time.perf_counter() - started

    def _in_subgroups(self, kernel: Any) -> bool:
        """True if a kernel has the sub-groups that it was generated for, if there are any."""
        shuffles = self.device.shuffles
        return shuffles is None or hold_in(kernel, shuffles, self.device.info.handle)

    def _without_subgroups(self, site: KernelSite, constants: Mapping[VName, int]) -> Any:
        """The program of a kernel that does without sub-groups."""
        alone = dict.fromkeys(subgroups_of(site.launch.kernel), 1)
        text = self._text([site], {**constants, **alone})
        with quietly():
            return self._build_watched((text, *self.options_without), needed=True)

    def _program(self, source: str, *further: str, needed: bool = True) -> Any:
        """A program, which may have been built already; ``needed``: nothing can stand in for it."""
        ready = self._ready.pop((source, *further), None)
        if ready is not None:
            return ready
        if (loading := self._loading.pop((source, *further), None)) is not None:
            found = self._watched(self._whole((source, *further)), loading.result, needed=needed)
            if found is not None:
                return found
        with quietly():
            return self._made(source, *further, needed=needed)

    def launch_first(self, queue: Any, kernel: BoundKernel, items: int, group: int) -> Any:
        """Launch a kernel that the driver is yet to compile for groups of this size.

        The queue is empty.  The launch is a build until the kernel runs.  The value is its event.
        """
        launch = f"{kernel.handle.function_name} in groups of {group}"
        started = time.perf_counter()
        try:
            return self._watched(
                (*self._programs[kernel], launch),
                lambda: launch_until_begun(queue, kernel.handle, items, group), needed=True)
        finally:
            self.build_seconds += time.perf_counter() - started

    def _made(self, source: str, *further: str, needed: bool) -> Any:
        """A program from the cache, or built; may run in any thread."""
        return self._build_watched(self._whole((source, *further)), needed=needed)

    def _build_watched(self, program: tuple[str, ...], *, needed: bool) -> Any:
        return self._watched(program, lambda: build_program(self.device, *program), needed=needed)

    def _watched(self, program: tuple[str, ...], make: Callable[[], Any], *, needed: bool) -> Any:
        """A program, given with all options, made in the time that callers allow."""
        policy = self.policy
        policy.watch.begins(program, needed=needed and policy.patient)
        try:
            return make()
        finally:
            policy.watch.ends(program)
