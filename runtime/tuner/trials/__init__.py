"""Trials: runs in which operations are repeated in place with other kernel parameters.

Entry point: :class:`~runelift.runtime.tuner.trials.trial_run.TrialRun`.
"""
