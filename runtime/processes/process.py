"""A process that answers requests of the tuner (:mod:`runelift.runtime.tuner.workers.worker`)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import weakref
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from runelift.runtime.cache import disk as cache
from runelift.runtime.devices.driver.build import BuildRequest, BuildTarget
from runelift.runtime.host import fast_start
from runelift.runtime.host.channel import send
from runelift.runtime.host.interpreter import command

GRACE = 5.0
"""How many seconds a process that has closed its connection may take to end."""
ONE_QUEUE = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
"""Has NVIDIA's driver make one queue of the device for a process instead of eight: ten processes at
a time have their contexts after three quarters of the time, and end in a third of it."""
WORKER = "runelift.runtime.tuner.workers.worker:serve"
"""What answers requests there: a name, since only such a process imports it."""
RUN = """
connection, lifeline, gate, opened, builds, tries, device, worker = given
from runelift.runtime.devices import pyopencl_quirks
from runelift.runtime.devices.driver import icd
from runelift.runtime.host import gc_policy
icd.begin(device, gate=gate)
pyopencl_quirks.keep_nothing()
gc_policy.look_seldom()
from runelift.runtime.processes.child_main import main
main(connection, lifeline, opened, builds, tries, worker)
"""
"""What such a process runs."""


class _Starting:
    """A process that starts, probably for this device, and is told later for which.

    It opens no device before the ``gate`` is closed, nor before the process ``after`` which it
    comes has opened its own or has ended; then it closes its end of ``opened``, and ends with this
    object.
    """

    def __init__(self, device: str | None, *, builds: bool, tries: bool = False,
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
            command(RUN, *given, builds, tries, device, WORKER),
            pass_fds=given, stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if builds else None,  # who needs a kernel says what is wrong
            env={**ONE_QUEUE, **os.environ} if builds else None,
            start_new_session=True)  # Ctrl-C is for the process that started it
        theirs.close()
        os.close(ours)
        if after is None:
            behind.close()
        done.close()
        self.end = weakref.finalize(self, _end, self.process, lifeline)

    def go(self, word: str = "") -> None:
        """Have it open the device; it may have been told to before."""
        if not self.gate.closed:
            with contextlib.suppress(OSError):  # whoever asks it for something will find out
                os.write(self.gate.fileno(), word.encode())
            self.gate.close()


_running: list[_Starting] = []
_trying: list[_Starting] = []
"""Processes that nobody has asked for yet, by what they are for."""
_outliving = set[_Starting]()
"""Processes that end after this one."""


@contextlib.contextmanager
def started_ahead(device: str | None = None) -> Iterator[Callable[[str], None]]:
    """Start the process of the first :class:`Process` of this context before that is asked for.

    Python and what it imports take longer than anything else that a short tuning does.  The value
    lets it open the device, with a word about what to load
    (:mod:`~runelift.runtime.devices.driver.preload`).
    """
    if not fast_start.enabled():
        yield lambda word: None
        return
    starting = _Starting(device, builds=False)
    _running.append(starting)
    with _ended(_running):
        yield starting.go


@contextlib.contextmanager
def trying_ahead(device: str | None, count: int) -> Iterator[None]:
    """The same for so many processes that make trials of the device, if they will be asked for."""
    for _ in range(count if fast_start.enabled() else 0):
        _trying.append(_Starting(device, builds=True, tries=True,
                                 after=_trying[-1] if _trying else None))
    with _ended(_trying):
        yield


@contextlib.contextmanager
def _ended(ahead: list[_Starting]) -> Iterator[None]:
    """End those that nobody has asked for."""
    try:
        yield
    finally:
        for unused in ahead:
            unused.connection.close()
            unused.end()
        ahead.clear()


class Process:
    """A process that runs programs on a device, or only ``builds``; it is ready when it answers.

    It may be told which program it will be given (the path and the policy), to have it read by
    then, if it is kept.  One that builds may do so through the driver alone, if it knows how
    (``bare``), until it is asked for something else; if it ``tries``, it will be asked for trials
    of the device, and is ready for these.  One that is ``held`` does not open the device before
    :meth:`go`, nor one that comes ``after`` another before that one has: a driver that several ask
    for contexts at the same time lets all of them wait until the last one has its own.
    """

    def __init__(self, device: str | None, *, builds: bool = False, tries: bool = False,
                 held: bool = False, program: tuple[str, str] | None = None,
                 after: Process | None = None, bare: BuildTarget | None = None) -> None:
        self.tries = tries
        ahead = (_trying if tries else []) if builds else _running
        self._started: _Starting = ahead.pop(0) if ahead else _Starting(
            device, builds=builds, tries=tries, after=None if after is None else after._started)
        self._told = BuildRequest(device, program, bare, cache.ourselves())
        self.connection = self._started.connection
        self._process = self._started.process
        if not held:
            self.go()

    def go(self) -> None:
        """Have it open the device."""
        self._started.go()
        with contextlib.suppress(OSError):  # whoever asks it for something will find out
            send(self.connection, self._told)

    def wait_until_open(self) -> None:
        """Wait until it has opened its device, or has ended."""
        with contextlib.suppress(OSError):
            self._started.opened.poll(None)

    @property
    def is_there(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def end(self) -> None:
        """End the process, whatever it does; a thread waits until it has given back everything."""
        self.connection.close()
        _outliving.discard(self._started)
        if (ending := self._started.end.detach()) is not None:
            _, _, (process, lifeline), _ = ending
            os.close(lifeline)
            process.kill()
            threading.Thread(target=process.wait, daemon=True).start()

    def outlive(self) -> None:
        """Let the process end after this one has, not before, even if nobody knows it any more.

        Drivers take a tenth of a second to give back what a process has, one process at a time.
        """
        self._started.end.atexit = False
        _outliving.add(self._started)

    def kill(self) -> None:
        """End the process, and wait until it is gone."""
        self.connection.close()
        _outliving.discard(self._started)
        self._started.end()

    def how_it_ended(self) -> str:
        """What became of a process that answers no more."""
        try:
            code = self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return "the process that ran it answered no more"
        if code < 0:
            return f"the process that ran it was ended by {signal.Signals(-code).name}"
        return f"the process that ran it ended with status {code}"


def _end(process: subprocess.Popen[bytes], lifeline: int) -> None:
    os.close(lifeline)
    process.kill()
    process.wait()
