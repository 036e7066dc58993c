"""Kernels in which one work-group runs a whole body, with arrays in local memory.

They import ``segops`` and all below.  Entry point:
:func:`~runelift.codegen.intragroup.group_version.lower_group`.
"""
