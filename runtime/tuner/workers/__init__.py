"""Workers that measure: processes, several devices, several machines.

Entry points: :class:`~runelift.runtime.tuner.workers.runners.Runners` here,
:func:`~runelift.runtime.tuner.workers.worker.serve` in the processes.
"""
