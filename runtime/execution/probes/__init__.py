"""Probes: small programs that find out what a device can do though no standard promises it.

Entry point: :func:`~runelift.runtime.execution.probes.on_demand.open_device`.
"""
