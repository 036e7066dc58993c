"""Child processes, which run programs, build kernels, or compile ahead.

A child is told by name which function answers its requests.  Entry points:
:class:`~runelift.runtime.processes.process.Process`,
:class:`~runelift.runtime.processes.build_pool.Builders`.
"""
