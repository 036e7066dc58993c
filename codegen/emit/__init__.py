"""Printers: kernels as OpenCL C, host plans as Python, fused and persistent kernels.

They import ``plan`` and ``passes``.  Entry points:
:func:`~runelift.codegen.emit.opencl.opencl_program`,
:func:`~runelift.codegen.emit.python.python_source`.
"""
