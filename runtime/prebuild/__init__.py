"""Prebuilding: the kernels that runs will need, found by dry runs and built before the runs.

Entry point: :class:`~runelift.runtime.prebuild.prebuild.Prebuilder`.
"""
