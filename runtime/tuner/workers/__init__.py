"""Workers that measure: processes, several devices, several machines.

It imports ``measure``, ``program`` and ``processes``.  Entry points:
:class:`~runelift.runtime.tuner.workers.runners.Runners` here,
:func:`~runelift.runtime.tuner.workers.worker.serve` in the processes.
"""
