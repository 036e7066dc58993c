"""OpenCL devices: their limits, contexts, memory, programs and kernels.

Entry points: :func:`~runelift.runtime.devices.info.select`,
:class:`~runelift.runtime.devices.context.Device`.  An open device is handed the probes that find
out what it can do.
"""
