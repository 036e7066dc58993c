"""What a device offers to work-items of a sub-group that hand each other values.

Kernels are written in OpenCL C 1.2, which has no sub-groups; what takes their place differs from
maker to maker (``prelude.cl``).  How many work-items a sub-group has is up to the device, and on
some to the compiler, for each kernel anew.  All that is said here is tried before it is relied on
(:mod:`runelift.runtime.execution.probes.subgroups`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from runelift.codegen.emit.prelude import linked

if TYPE_CHECKING:
    from runelift.runtime.devices.context import Device

SIZES = (8, 16, 32, 64)
"""How many work-items a sub-group may have."""


@dataclass(frozen=True, slots=True)
class ShuffleMethod:
    """A way in which work-items hand each other values.

    Sub-groups have ``size`` work-items, 0 if that is not known yet.  ``options`` are those of
    programs that use them, ``standard`` the language that they are written in.  Kernels are
    ``fixed`` to this size; else each must be asked.
    """

    size: int
    options: tuple[str, ...]
    standard: str = "-cl-std=CL1.2"
    fixed: bool = True

    def build_options(self, others: tuple[str, ...]) -> tuple[str, ...]:
        """The options of programs that have all the ``others`` without sub-groups."""
        kept = (each for each in others if not each.startswith("-cl-std="))
        return (self.standard, *kept, *self.options, f"-DSUBGROUP={self.size}")

    def hold_in(self, kernel: Any, handle: Any) -> bool:
        """Whether a kernel that was built, for groups of one size, has such sub-groups."""
        if self.fixed:
            return True
        import pyopencl as cl

        with suppress(cl.Error):
            group = kernel.get_work_group_info(
                cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE, handle)[0]
            asked = cl.kernel_sub_group_info.MAX_SUB_GROUP_SIZE_FOR_NDRANGE
            return bool(kernel.get_sub_group_info(handle, asked, [group]) == self.size)
        return False


def by_assembly(size: int) -> ShuffleMethod:
    """NVIDIA's instructions, for warps of so many work-items."""
    return ShuffleMethod(size, ("-DSHUFFLES_PTX",))


INTEL = ShuffleMethod(0, ("-DSHUFFLES_INTEL", "-DREQUIRED_SUBGROUP"))
"""``cl_intel_subgroups`` and ``cl_intel_required_subgroup_size``."""
KHRONOS = ShuffleMethod(0, ("-DSHUFFLES_KHR",), fixed=False)
"""``cl_khr_subgroups`` and ``cl_khr_subgroup_shuffle``, which are functions of OpenCL C 2.0."""


def offered(handle: Any) -> tuple[ShuffleMethod, ...]:
    """The ways that a device has, the preferred first."""
    extensions = set(handle.extensions.split())
    found: list[ShuffleMethod] = []
    if "NVIDIA" in handle.platform.name:
        found.append(by_assembly(handle.warp_size_nv))
    if {"cl_intel_subgroups", "cl_intel_required_subgroup_size"} <= extensions:
        found.append(INTEL)
    if "cl_khr_subgroup_shuffle" in extensions:
        major = int(handle.version.split()[1].partition(".")[0])
        found.append(replace(KHRONOS, standard=f"-cl-std=CL{max(2, major)}.0"))
    return tuple(found)


ASK = """
__kernel void ask(__global uint *found) {
    const uint item = get_local_id(0), size = get_max_sub_group_size();
    found[2 * item] = size;
    found[2 * item + 1] = get_sub_group_id() * size + get_sub_group_local_id();
}
"""


def asked(device: Device, offer: ShuffleMethod) -> ShuffleMethod | None:
    """The offer with the size that kernels have; None if these are not work-items in a row."""
    import pyopencl as cl

    from runelift.runtime.devices.build import Infeasible, build_program, quietly

    if offer.size:
        return offer
    group = device.info.group_size
    found = np.zeros((group, 2), np.uint32)
    try:
        with quietly():
            program = build_program(device, linked(ASK),
                                    *offer.build_options(device.info.build_options))
        memory = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, found.nbytes)
        cl.Kernel(program, "ask")(device.plain, (group,), (group,), memory)
        cl.enqueue_copy(device.plain, found, memory)
    except (Infeasible, cl.Error):
        return None
    sizes, places = found.T
    size = int(sizes[0])
    in_a_row = (sizes == size).all() and (places == np.arange(group)).all()
    return replace(offer, size=size) if in_a_row and size in SIZES else None
