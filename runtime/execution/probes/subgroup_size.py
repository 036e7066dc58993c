"""The size of sub-groups, asked of a kernel that runs on the device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyopencl as cl

from runelift.codegen.emit.prelude import linked
from runelift.runtime.devices.build import Infeasible, build_program, quietly
from runelift.runtime.devices.context import Device
from runelift.runtime.devices.subgroup_support import ShuffleMethod

SIZES = (8, 16, 32, 64)
"""Possible numbers of work-items in a sub-group."""
ASK = """
__kernel void ask(__global uint *found) {
    const uint item = get_local_id(0), size = get_max_sub_group_size();
    found[2 * item] = size;
    found[2 * item + 1] = get_sub_group_id() * size + get_sub_group_local_id();
}
"""


def subgroup_size(device: Device, offer: ShuffleMethod) -> ShuffleMethod | None:
    """The offer with the size that kernels have; None if these are not work-items in a row."""
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
