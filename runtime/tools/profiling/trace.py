"""Profiles as Chrome trace events, which Perfetto and chrome://tracing show.

Each dataset is a process with a track for the host and one for the device, and a counter of device
memory.  Events on a track are nested or apart, and times are in microseconds.  The format is the
JSON of "Trace Event Format" (Google 2016): complete events (X), counters (C), metadata (M).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from runelift.runtime.tools.profiling.profile import Profile
from runelift.runtime.tools.profiling.timeline import Span

HOST, DEVICE = 1, 2
"""The numbers of the tracks."""


def trace(profiles: Sequence[Profile]) -> dict[str, Any]:
    """The trace of the median run of each profile."""
    return {"traceEvents": [event for number, each in enumerate(profiles, 1)
                            for event in _events(number, each)],
            "displayTimeUnit": "ms",
            "otherData": {"device": profiles[0].device if profiles else ""}}


def _events(process: int, profile: Profile) -> Iterator[dict[str, Any]]:
    run = profile.shown
    kernels = {(each.name, each.version): each for each in profile.kernels}
    names = {"process_name": (HOST, f"{profile.entry}: {profile.dataset}"),
             "thread_name": (HOST, "host")}
    for kind, (track, name) in (*names.items(), ("thread_name", (DEVICE, profile.device))):
        yield {"name": kind, "ph": "M", "pid": process, "tid": track, "args": {"name": name}}
    yield _event(process, HOST, Span("call", 0.0, run.wall), "call", {})
    for span in run.host:
        kind = ("wait" if span.name == "wait" else "version" if span.detail else "issue")
        yield _event(process, HOST, span, kind, {"site": span.detail} if span.detail else {})
    for version in run.versions:
        yield _event(process, DEVICE, version, "version", {"site": version.detail})
    for command in run.commands:
        about = kernels[command.span.name, command.version]
        sizes: dict[str, Any] = {}
        if command.is_kernel and not command.issued.kind:
            launch = command.issued.launches[0]
            sizes = {"groups": launch.groups, "group size": launch.group}
        facts = {"version": command.version, "source": about.source, **sizes}
        yield _event(process, DEVICE, command.span, "kernel" if command.is_kernel else "copy",
                     {name: each for name, each in facts.items() if each != ""})
    for at, size in run.memory:
        yield {"name": "device memory", "ph": "C", "pid": process, "tid": HOST,
               "ts": _nanoseconds(at) / 1000, "args": {"bytes": size}}


def _event(process: int, track: int, span: Span, category: str, about: dict[str, Any]
           ) -> dict[str, Any]:
    start, end = map(_nanoseconds, (span.start, span.end))
    return {"name": span.name, "cat": category, "ph": "X", "ts": start / 1000,
            "dur": (end - start) / 1000, "pid": process, "tid": track, "args": about}


def _nanoseconds(seconds: float) -> int:
    """Whole nanoseconds: rounding keeps an event inside of the event around it."""
    return round(seconds * 1e9)
