"""Device memory of runs before they run, and bounds on it.

Entry points: :class:`~runelift.runtime.memory.memory_run.MemoryRun` and
:class:`~runelift.runtime.memory.memory_guard.MemoryGuard`.
"""
