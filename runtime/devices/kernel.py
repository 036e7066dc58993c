"""Built kernels with their bound arguments; only arguments that changed are set.

A loop of small kernels is as fast as the host issues them.  PyOpenCL sets buffers, and scalars of
known types, quickly.  It takes much longer to find out that an argument is local memory.  The sizes
of local memory seldom change from one launch to the next, so they are set when they do, by OpenCL
itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
import pyopencl as cl

from runelift.runtime.devices.direct_launch import launcher_of_any_size, local_setter, make
from runelift.runtime.devices.subgroup_support import ShuffleMethod

LEAST_LOCAL_BYTES = 16
"""The least bytes of local memory: it may not be empty."""

LaunchArguments: TypeAlias = tuple[Sequence[Any], tuple[int, ...]]
"""The arguments of a launch: buffers and scalars, and the lengths of local memory in bytes."""


@dataclass(frozen=True, slots=True)
class LateScalar:
    """Stands for the scalar with this number among the scalars that each run brings."""

    number: int


class BoundKernel:
    """A kernel, and the arguments of its last launch.

    Its first arguments are the buffers ``fixed``, which every launch uses.  ``types`` are the NumPy
    types of the arguments that follow, None for a buffer.  Pieces of local memory are the last.
    ``owner`` is the object that set the arguments last and knows them, or None.
    """

    __slots__ = ("_characters", "_first", "_given", "_launch", "_lengths", "_queue", "_set",
                 "handle", "owner")

    def __init__(self, handle: Any, fixed: Sequence[Any],
                 types: Sequence[type[np.generic] | None]) -> None:
        self.handle = handle
        self.owner: object = None
        self._given = fixed, types
        self._first = len(fixed)
        self._characters = tuple(None if type_ is None else _character(type_) for type_ in types)
        self._lengths: tuple[int, ...] = ()
        self._set = _setter(len(fixed), tuple(types))
        self._queue: Any = None
        for number, buffer in enumerate(fixed):
            handle.set_arg(number, buffer)

    def twin(self) -> BoundKernel:
        """Another kernel of this function; launches of this kernel leave its arguments alone."""
        program = self.handle.get_info(cl.kernel_info.PROGRAM)
        return BoundKernel(cl.Kernel(program, self.handle.function_name), *self._given)

    def set_args(self, args: Sequence[Any], lengths: tuple[int, ...]) -> None:
        """Set the arguments for the next launch; ``lengths`` of local memory are in bytes."""
        self.owner = None
        self._set(self.handle, *args)
        if lengths != self._lengths:
            for call in self._locals(lengths):
                make(call)
            self._lengths = lengths

    def launch(self, queue: Any, items: int, group: int) -> None:
        """Launch with the arguments that are set: so many work-items, in groups, and no event."""
        if queue is not self._queue:
            self._queue, self._launch = queue, launcher_of_any_size(queue, self.handle)
        self._launch(items, group)

    def setters(self, given: LaunchArguments,
                before: LaunchArguments | None) -> Iterator[Callable[[], object]]:
        """Calls that set the arguments in which a launch differs from the launch before.

        Late scalars are left out.
        """
        args, lengths = given
        buffers, scalars = list[Any](), list[Any]()
        for number, (character, arg) in enumerate(zip(self._characters, args, strict=True)):
            if isinstance(arg, LateScalar) or (
                    before is not None and _same(arg, before[0][number])):
                continue
            if character is None:
                buffers += self._first + number, arg
            else:
                scalars += self._first + number, character, arg
        if buffers:
            yield partial(self.handle._set_arg_multi, tuple(buffers))
        if scalars:
            yield partial(self.handle._set_arg_buf_pack_multi, tuple(scalars))
        if before is None or lengths != before[1]:
            yield from self._locals(lengths)

    def late_setter(self, args: Sequence[Any], scalars: Sequence[Any]
                    ) -> Callable[[], None] | None:
        """A call that sets the late scalars among ``args`` to the present ``scalars``, if any."""
        places = [(number, character, arg.number) for number, (character, arg) in enumerate(
            zip(self._characters, args, strict=True), self._first) if isinstance(arg, LateScalar)]
        if not places:
            return None
        set_scalars = self.handle._set_arg_buf_pack_multi

        def set_late() -> None:
            set_scalars(tuple([each for number, character, place in places
                               for each in (number, character, scalars[place])]))

        return set_late

    def bound_by(self, owner: object, lengths: tuple[int, ...]) -> None:
        """Note that ``owner`` has set all arguments, for its last launch."""
        self.owner, self._lengths = owner, lengths

    def forget_args(self) -> None:
        """Forget the arguments: they are unknown."""
        self.owner, self._lengths = None, ()

    def _locals(self, lengths: tuple[int, ...]) -> Iterator[Callable[[], object]]:
        for number, length in enumerate(lengths, self._first + len(self._characters)):
            yield local_setter(self.handle, number,
                               max(-(-length // LEAST_LOCAL_BYTES), 1) * LEAST_LOCAL_BYTES)


def _character(type_: type[np.generic]) -> bytes:
    """The character of a type, by which scalars are set."""
    return np.dtype(type_).char.encode()


def _same(one: Any, other: Any) -> bool:
    """True if two arguments are surely equal; 0 and -0 are not."""
    return one is other or (isinstance(one, int) and one == other)


@cache
def _setter(first: int, types: tuple[type[np.generic] | None, ...]) -> Callable[..., None]:
    """A function that sets buffers and scalars of these types, from argument ``first`` on.

    It is the code that PyOpenCL generates for kernels that know their types.  That code, however,
    wants all arguments at once.
    """
    names = [f"arg{n}" for n in range(len(types))]
    buffers = scalars = ""
    for number, (name, type_) in enumerate(zip(names, types, strict=True), first):
        if type_ is None:
            buffers += f"{number}, {name}, "
        else:
            scalars += f"{number}, {_character(type_)!r}, {name}, "
    lines = [f"def set_arguments(kernel, {', '.join(names)}):",
             f"    kernel._set_arg_multi(({buffers}))" if buffers else "    pass",
             f"    kernel._set_arg_buf_pack_multi(({scalars}))" if scalars else "    pass"]
    namespace: dict[str, Callable[..., None]] = {}
    exec("\n".join(lines), namespace)
    return namespace["set_arguments"]


def hold_in(kernel: Any, shuffles: ShuffleMethod, handle: Any) -> bool:
    """True if a built kernel, for groups of one size, has the sub-groups of a method."""
    if shuffles.fixed:
        return True
    with suppress(cl.Error):
        group = kernel.get_work_group_info(
            cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE, handle)[0]
        asked = cl.kernel_sub_group_info.MAX_SUB_GROUP_SIZE_FOR_NDRANGE
        return bool(kernel.get_sub_group_info(handle, asked, [group]) == shuffles.size)
    return False
