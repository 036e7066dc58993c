"""Child processes that answer requests of the tuner."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from runelift.runtime.cache import disk
from runelift.runtime.devices.driver.build import BuildRequest, BuildTarget
from runelift.runtime.host import fast_start
from runelift.runtime.host.channel import send
from runelift.runtime.host.children import NATIVE, command, ending

END_TIMEOUT = 5.0
"""Seconds that a process may take to end after it has closed its connection."""
ONE_QUEUE = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
"""An environment in which NVIDIA's driver makes one queue of the device instead of eight.

Contexts of several processes are made and released faster with it.
"""
OUTSIDE_SIGNALS = frozenset(-number for number in (
    signal.SIGKILL, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)))
"""The exit statuses of processes that users or the system end, as where memory is short."""
WORKER = "runelift.runtime.tuner.workers.worker:serve"
"""The function that answers requests there, by name: only such a process imports it."""
RUN = """
connection, lifeline, gate, opened, builds, probes, device, answers = given
from runelift.runtime.host.lifeline import end_with_parent
end_with_parent(lifeline)
from runelift.runtime.devices import pyopencl_quirks
from runelift.runtime.devices.driver import icd
from runelift.runtime.host import gc_policy, lazy_dataclasses
icd.begin(device, gate=gate)
pyopencl_quirks.disable_caches()
gc_policy.collect_rarely()
lazy_dataclasses.begin()
from runelift.runtime.processes.child_main import main
main(connection, lifeline, opened, builds, probes, answers)
"""
"""The code of such a process."""


class _Starting:
    """A process that has started, and gets its request later; ``device`` is a guess.

    It opens a device only when the ``gate`` is closed, and the process ``after`` which it comes has
    opened its device or has ended.  Then it closes its end of ``opened``.  It ends with this
    object.
    """

    def __init__(self, device: str | None, *, builds: bool, probes: bool = False,
                 after: _Starting | None = None) -> None:
        self.connection, theirs = Pipe()
        ours, lifeline = os.pipe()
        behind, self.gate = Pipe(duplex=False)
        if after is not None:
            behind.close()
            behind = after.opened
        self.opened: Connection
        self.opened, done = Pipe(duplex=False)
        given = theirs.fileno(), ours, behind.fileno(), done.fileno()
        self.process = subprocess.Popen(
            command(RUN, *given, builds, probes, device, WORKER),
            pass_fds=given, stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if builds else None,
            # the run that needs a kernel reports errors
            env={**ONE_QUEUE, **os.environ} if builds else None,
            start_new_session=True)  # Ctrl-C is for the process that started it
        theirs.close()
        os.close(ours)
        if after is None:
            behind.close()
        done.close()
        self.end = weakref.finalize(self, _end, self.process, lifeline)
        _started.add(self)

    def go(self, message: str = "") -> None:
        """Let it open the device, unless that was done before."""
        if not self.gate.closed:
            with contextlib.suppress(OSError):  # the next request will report that it has ended
                os.write(self.gate.fileno(), message.encode())
            self.gate.close()


_started = weakref.WeakSet[_Starting]()
"""All processes of this one."""


def _leave_to_parent() -> None:
    """Keep a copy of this process, made by ``fork``, from what its parent has started.

    The copy would hold the pipe whose end tells of the end of the parent.
    """
    for each in list(_started):
        if (ending := each.end.detach()) is not None:
            os.close(ending[2][1])
    _started.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)

_running: list[_Starting] = []
_probing: list[_Starting] = []
"""Processes that have not been requested yet: for runs, and for probes of the device."""
_outliving = set[_Starting]()
"""Processes that end after this one, so that they are not waited for."""


@contextlib.contextmanager
def started_ahead(device: str | None = None) -> Iterator[Callable[[str], None]]:
    """Start the process of the first :class:`Process` of this context before it is requested.

    Python and its imports take longer than all else in a short tuning.  The value lets the process
    open the device, with a message that names kernels to load
    (:mod:`~runelift.runtime.devices.driver.preload`).
    """
    if not fast_start.enabled():
        yield lambda message: None
        return
    starting = _Starting(device, builds=False)
    _running.append(starting)
    with _ended(_running):
        yield starting.go


@contextlib.contextmanager
def probers_started_ahead(device: str | None, count: int) -> Iterator[None]:
    """Start ``count`` processes that probe the device before they are requested."""
    for _ in range(count if fast_start.enabled() else 0):
        _probing.append(_Starting(device, builds=True, probes=True,
                                 after=_probing[-1] if _probing else None))
    with _ended(_probing):
        yield


@contextlib.contextmanager
def _ended(spare: list[_Starting]) -> Iterator[None]:
    try:
        yield
    finally:
        for unused in spare:
            unused.connection.close()
            unused.end()
        spare.clear()


class Process:
    """A process that runs programs on a device, or only ``builds``; it is ready when it answers.

    ``program`` is the path and the policy of the program that it will run, so that it can read the
    compiled one meanwhile.  A process with a ``target`` builds through the driver alone until it
    gets another request.  One with ``probes`` gets ready to probe the device.  A process that is
    ``held`` opens the device only after :meth:`go`.  One ``after`` another waits until that has
    opened its device: a driver that makes several contexts at a time returns them all at the end.
    """

    def __init__(self, device: str | None, *, builds: bool = False, probes: bool = False,
                 held: bool = False, program: tuple[str, str] | None = None,
                 after: Process | None = None, target: BuildTarget | None = None) -> None:
        self.probes = probes
        spare = (_probing if probes else []) if builds else _running
        self._started: _Starting = spare.pop(0) if spare else _Starting(
            device, builds=builds, probes=probes, after=None if after is None else after._started)
        self._request = BuildRequest(device, program, target, disk.fingerprint())
        self.connection = self._started.connection
        self._process = self._started.process
        if not held:
            self.go()

    def go(self) -> None:
        """Let it open the device."""
        self._started.go()
        with contextlib.suppress(OSError):  # the next request will report that it has ended
            send(self.connection, self._request)

    def wait_until_open(self) -> None:
        """Wait until it has opened its device, or has ended."""
        with contextlib.suppress(OSError):
            self._started.opened.poll(None)

    @property
    def is_there(self) -> bool:
        """True until it has ended."""
        return self._process.poll() is None

    def processor_seconds(self) -> float:
        """The seconds that it has computed; the time of a clock where the system does not tell."""
        try:
            after_name = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2]
        except OSError:
            return time.perf_counter()
        user, system = map(int, after_name.split()[11:13])
        return (user + system) / float(os.sysconf("SC_CLK_TCK"))

    def end(self) -> None:
        """End the process at once; a thread waits until it has released everything."""
        self.connection.close()
        _outliving.discard(self._started)
        if (ending := self._started.end.detach()) is not None:
            _, _, (process, lifeline), _ = ending
            os.close(lifeline)
            process.kill()
            threading.Thread(target=process.wait, daemon=True).start()

    def outlive(self) -> None:
        """Let the process end after this one, even if the object is gone.

        Drivers take long to release the resources of a process, and do one process at a time.
        """
        self._started.end.atexit = False
        _outliving.add(self._started)

    def kill(self) -> None:
        """End the process, and wait for its end."""
        self.connection.close()
        _outliving.discard(self._started)
        self._started.end()

    @property
    def was_killed(self) -> bool:
        """True if it was ended by a signal that comes from outside: no program sends it itself."""
        return self._process.poll() in OUTSIDE_SIGNALS

    def how_it_ended(self) -> str:
        """Describe the end of a process that does not answer."""
        try:
            code = self._process.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            return "the process that ran it answered no more"
        return f"the process that ran it {ending(code)}"

    @property
    def crashed(self) -> bool:
        """True if a mistake of native code has ended it."""
        return -(self._process.poll() or 0) in NATIVE


def _end(process: subprocess.Popen[bytes], lifeline: int) -> None:
    os.close(lifeline)
    process.kill()
    process.wait()
