"""Execution of host plans: runs, command buffers, fused launches and persistent loops.

Host plans are Python functions of such a run, ``rt``.  Entry points:
:class:`~runelift.runtime.execution.calls.Call`,
:class:`~runelift.runtime.execution.run.Run`.
"""
