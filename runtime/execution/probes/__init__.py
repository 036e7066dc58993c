"""Probes: small programs that find out what a device can do though no standard promises it.

They import ``execution`` and lower their programs with the code generator.  Entry point:
:func:`~runelift.runtime.execution.probes.on_demand.open_device`.
"""
