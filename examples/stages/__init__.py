"""Schedules of examples: the stages of an optimizer of kernels."""
