"""Measuring: choice of runs, repetitions, time limits, and paired comparison of two choices.

Entry points: :func:`~runelift.runtime.tuner.measure.measuring.measure_by`,
:class:`~runelift.runtime.tuner.measure.paired_comparison.PairedRun`.
"""
