"""The main function of a process that answers requests (:mod:`.process`)."""

from __future__ import annotations

import os
import sys
import threading
import time
from functools import partial
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from runelift.runtime.devices.bindings import bindings_problem
from runelift.runtime.devices.driver import build, icd, preload
from runelift.runtime.devices.driver.build import BuildRequest
from runelift.runtime.host.channel import receive, send
from runelift.runtime.host.lifeline import OUTLIVE_SECONDS


def main(connection: int, lifeline: int, opened: int, builds: bool, probes: bool,
         worker: str) -> None:
    """Answer requests, given the descriptors of a connection and of a pipe that the parent holds.

    The descriptor ``opened`` is closed as soon as the device is open.  A process that only
    ``builds``, without ``probes`` of the device, uses the driver alone until it gets another
    request.  The function ``worker``, ``MODULE:NAME``, answers all other requests.
    """
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    ending = threading.Thread(target=_end_with, args=(lifeline,), daemon=True)
    ending.start()
    if not builds:
        preload.begin()
    _serve(Connection(connection), partial(os.close, opened), builds, probes, worker)
    ending.join()


def _serve(link: Connection, is_open: partial[None], builds: bool, probes: bool,
           worker: str) -> None:
    opening: BuildRequest | None = None
    request = None
    if builds and not probes:
        try:
            opening = receive(link)
        except EOFError:
            return
        target, driver = opening.target, icd.driver_context()
        if target is not None and driver is not None:
            is_open()
            send(link, "ready")
            if (request := build.serve(link, target, driver)) is None:
                return
    _serve_all(worker, link, builds, probes, is_open, opening, request)


def _serve_all(worker: str, link: Connection, builds: bool, probes: bool, is_open: partial[None],
               opening: BuildRequest | None, request: Any) -> None:
    """Answer all requests, with everything imported that runs of programs need."""
    # late: start-up; a process that only builds through the driver does without
    from runelift.runtime.devices.info import register_runtimes

    register_runtimes()  # before anything imports pyopencl
    if bindings_problem():  # the parent says so
        return
    module, _, name = worker.partition(":")
    serve = getattr(import_module(module), name)
    serve(link, builds=builds, probes=probes, opened=is_open, opening=opening, request=request)


def _end_with(lifeline: int) -> None:
    """End this process some time after the end of its parent, and its output before.

    If native code keeps Python's lock, :mod:`~runelift.runtime.host.lifeline` ends the process.
    """
    os.read(lifeline, 1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2):  # readers of the command's output wait for all processes that can write
        os.dup2(nowhere, output)
    time.sleep(OUTLIVE_SECONDS)
    os._exit(0)
