"""The search over schedules: candidates are drawn, measured as versions of one program, and halved.

Read :mod:`~runelift.runtime.tuner.schedules.drawing` first, then
:mod:`~runelift.runtime.tuner.schedules.search`.
"""
