"""Records: the cost of each choice in a run, and estimates and statistics of costs.

Read :mod:`~runelift.runtime.records.record` first.  The time of a version is recorded in these
steps:

1. ``runtime/execution/run.py``: ``Run.encounter`` and ``Run.leave`` note a version's begin and end.
2. ``runtime/records/recorder.py``: a ``Recorder`` turns device commands into encounters.
3. ``runtime/records/record.py``: a ``Record`` has the ``Encounter`` of each version that ran.
4. ``runtime/tuner/costs/log.py``: a ``LoggedRun`` keeps the record, in ``x.tuning.log`` too.
5. ``runtime/tuner/costs/recording_overhead.py``: the time that recording took is subtracted.
6. ``runtime/tuner/costs/cost_model.py``: ``Costs`` has the cost of each version at each encounter.
"""
