"""Sub-groups: the ways in which work-items of a device may hand each other values.

Kernels are written in OpenCL C 1.2, which has no sub-groups; extensions differ from maker to maker
(``prelude.cl``).  The size of a sub-group depends on the device, and on some on the compiler, for
each kernel anew.  Probes confirm it before kernels rely on it
(:mod:`runelift.runtime.execution.probes.subgroups`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from runelift.runtime.devices.limits import DeviceLimits


@dataclass(frozen=True, slots=True)
class ShuffleMethod:
    """A way in which work-items hand each other values.

    Sub-groups have ``size`` work-items, 0 if that is not known yet.  ``options`` are the options of
    programs that use sub-groups, ``standard`` is their language.  Kernels are ``fixed`` to this
    size; else each must be asked.
    """

    size: int
    options: tuple[str, ...]
    standard: str = "-cl-std=CL1.2"
    fixed: bool = True

    def build_options(self, others: tuple[str, ...]) -> tuple[str, ...]:
        """The options of programs that have all the ``others`` without sub-groups."""
        kept = (each for each in others if not each.startswith("-cl-std="))
        return (self.standard, *kept, *self.options, f"-DSUBGROUP={self.size}")


def by_assembly(size: int) -> ShuffleMethod:
    """NVIDIA's instructions, for warps of so many work-items."""
    return ShuffleMethod(size, ("-DSHUFFLES_PTX",))


INTEL = ShuffleMethod(0, ("-DSHUFFLES_INTEL", "-DREQUIRED_SUBGROUP"))
"""``cl_intel_subgroups`` and ``cl_intel_required_subgroup_size``."""
KHRONOS = ShuffleMethod(0, ("-DSHUFFLES_KHR",), fixed=False)
"""``cl_khr_subgroups`` and ``cl_khr_subgroup_shuffle``, which are functions of OpenCL C 2.0."""


def offered(limits: DeviceLimits) -> tuple[ShuffleMethod, ...]:
    """The ways that a device has, the preferred first."""
    extensions = set(limits.extensions)
    found: list[ShuffleMethod] = []
    if limits.warp:
        found.append(by_assembly(limits.warp))
    if {"cl_intel_subgroups", "cl_intel_required_subgroup_size"} <= extensions:
        found.append(INTEL)
    if "cl_khr_subgroup_shuffle" in extensions:
        major = int(limits.version.split()[1].partition(".")[0])
        found.append(replace(KHRONOS, standard=f"-cl-std=CL{max(2, major)}.0"))
    return tuple(found)
