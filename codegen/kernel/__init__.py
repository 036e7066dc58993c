"""Kernel construction: the builder, sequential code, collective operations, launches.

All kernels are built with it, whatever they compute.  It imports ``plan`` and ``passes``.
"""
