"""Kernels in which one work-group runs a whole body."""
