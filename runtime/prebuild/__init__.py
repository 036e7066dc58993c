"""Prebuilding: kernels are collected and built before the runs that need them."""
