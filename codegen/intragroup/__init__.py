"""Kernels in which one work-group runs a whole body.

:func:`~runelift.codegen.intragroup.group_version.lower_group` is the entrance.
"""
