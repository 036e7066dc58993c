"""Processes beside this one: those that run programs, and those that build kernels."""
