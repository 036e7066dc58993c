"""Builders that all kernels share: sequential code, launches, collective operations."""
