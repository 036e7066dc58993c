"""Prebuilding: the kernels that runs will need, found by dry runs and built before the runs.

It imports ``execution``, ``processes``, ``compilation`` and ``cache``.  Entry point:
:class:`~runelift.runtime.prebuild.prebuild.Prebuilder`.
"""
