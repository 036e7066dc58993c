"""An observer: a line for each run in a file."""

import os
from pathlib import Path

from runelift.runtime.records.observers import ObservedRun


def diary(run: ObservedRun) -> None:
    """Write dataset, time and launches of each run to the file $DIARY."""
    launches = 0 if run.record is None else run.record.launches
    with Path(os.environ["DIARY"]).open("a") as file:
        file.write(f"{run.entry} {run.dataset} {run.seconds:.6f} {launches}\n")
