"""Replay: runs in which every version is run at every encounter, on copies of its inputs.

Entry point: :func:`~runelift.runtime.tuner.replay.replay_run.replay`.
"""
