"""Measuring: choice of runs, repetitions, time limits, and paired comparison of two choices.

It imports ``costs``, ``prune``, ``records`` and ``replay``.  Entry points:
:class:`~runelift.runtime.tuner.measure.forced_runs.ForcedRuns`,
:class:`~runelift.runtime.tuner.measure.replay_runs.ReplayRuns`,
:class:`~runelift.runtime.tuner.measure.paired_comparison.PairedRun`.
"""
