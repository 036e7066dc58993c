"""A profile as data, for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from runelift.runtime.tools.profiling.profile import KernelProfile, Profile
from runelift.runtime.tools.profiling.quantities import verdict


def data(profile: Profile) -> dict[str, Any]:
    """A profile as a JSON object, without single events: seconds, bytes, operations, shares."""
    run = profile.shown
    return {
        "entry": profile.entry, "dataset": profile.dataset, "device": profile.device,
        "verdict": verdict(profile), "wall": asdict(profile.wall),
        "wall_without_profile": asdict(profile.plain),
        "predicted_seconds": profile.predicted,
        "parts": {**asdict(run.parts), "idle": run.parts.idle},
        "peak_bytes": run.peak_bytes,
        "memory": [{"seconds": at, "bytes": size} for at, size in run.memory],
        "peaks": {"bytes_per_second": profile.peaks.bandwidth,
                  "operations_per_second": {
                      prim.value: each for prim, each in profile.peaks.operations.items()}},
        "kernels": [_kernel(each) for each in profile.kernels],
        "versions": [asdict(each) for each in profile.versions],
        "all_versions": [
            {"name": each.name, "refused": each.refused or None,
             "wall": None if each.wall is None else asdict(each.wall),
             "busiest": None if each.busiest is None else _kernel(each.busiest)}
            for each in profile.compared],
        "roof_seconds": profile.roof,
        "ways": [asdict(each) for each in profile.ways],
        "steps": [asdict(each) for each in profile.steps],
        "difference_from_numpy": profile.difference or None,
    }


def _kernel(kernel: KernelProfile) -> dict[str, Any]:
    work = kernel.work
    return {
        "name": kernel.name, "version": kernel.version, "source": kernel.source,
        "class": kernel.does, "launches": kernel.launches, "time": asdict(kernel.time),
        "predicted_seconds": kernel.predicted,
        "share": kernel.share, "counts": kernel.certainty,
        "operations": None if work is None else {
            prim.value: count for prim, count in work.operations.items()},
        "bytes": kernel.moved,
        "accessed_bytes": kernel.accessed,
        "operations_per_second": kernel.operation_rate, "bytes_per_second": kernel.bandwidth,
        "intensity": kernel.intensity, "share_of_peak_operations": kernel.compute_share,
        "share_of_peak_bandwidth": kernel.memory_share, "share_of_roofline": kernel.roof_share,
        "bound": kernel.bound or None,
    }
