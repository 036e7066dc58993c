"""The OpenCL driver without PyOpenCL, for work that begins before PyOpenCL is imported.

It imports ``host`` and ``cache``.  Processes that only build kernels import nothing else: see
:mod:`~runelift.runtime.devices.driver.build`.
"""
