"""What a process does that has been started to answer requests (:mod:`.process`)."""

from __future__ import annotations

import os
import sys
import threading
import time
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from runelift.runtime.devices.driver import build as bare
from runelift.runtime.devices.driver import icd as early
from runelift.runtime.devices.driver import preload as loading
from runelift.runtime.devices.driver.build import BuildRequest
from runelift.runtime.host.channel import receive, send

AFTER = 0.3
"""How many seconds these outlive the process that started them: both at a time take longer to end.
"""


def main(connection: int, lifeline: int, opened: int, builds: bool, tries: bool,
         worker: str) -> None:
    """Answer requests, given the descriptors of a connection and of a pipe that the parent holds.

    The descriptor ``opened`` is closed as soon as the device is open.  Who only ``builds``, and
    makes no trials of the device, does so through the driver alone until it is asked for more.
    The function ``worker``, ``MODULE:NAME``, answers requests that need more.
    """
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    ending = threading.Thread(target=_end_with, args=(lifeline,), daemon=True)
    ending.start()
    if not builds:
        loading.begin()
    _serve(Connection(connection), partial(os.close, opened), builds, tries, worker)
    ending.join()


def _serve(link: Connection, is_open: partial[None], builds: bool, tries: bool,
           worker: str) -> None:
    """Answer requests until nobody makes any more."""
    told: BuildRequest | None = None
    request = None
    if builds and not tries:
        try:
            told = receive(link)
        except EOFError:
            return
        about, made = told.bare, early.made()
        if about is not None and made is not None:
            is_open()
            send(link, "ready")
            if (request := bare.serve(link, about, made)) is None:
                return
    _go_on(worker, link, builds, tries, is_open, told, request)


def _go_on(worker: str, link: Connection, builds: bool, tries: bool, is_open: partial[None],
           told: BuildRequest | None, request: Any) -> None:
    """The same with all that running programs takes."""
    # late: start-up; a process that only builds through the driver does without
    from runelift.runtime.devices.info import register_runtimes

    register_runtimes()  # before anything imports pyopencl
    module, _, name = worker.partition(":")
    serve = getattr(import_module(module), name)
    serve(link, builds=builds, tries=tries, opened=is_open, told=told, request=request)


def _end_with(lifeline: int) -> None:
    """End this process, whatever it does, so long after the one that started it is gone."""
    os.read(lifeline, 1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2):  # who reads what the command says waits for all who might say something
        os.dup2(nowhere, output)
    time.sleep(AFTER)
    os._exit(0)
