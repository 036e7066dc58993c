"""The runtime: compiled programs run, are measured and tuned on OpenCL devices.

:mod:`~runelift.runtime.programs.compile` and :mod:`~runelift.runtime.programs.program` are what
users see.  Below them are packages for devices, execution and records, above them the tuner and the
commands.  The table in ``tests/test_layers.py`` says which may import which.
"""
