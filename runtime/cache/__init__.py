"""The cache on disk, safe with parallel processes: compiled programs and OpenCL binaries.

It stores bytes and imports the IR only; other packages know what they mean.  Entry points:
:mod:`~runelift.runtime.cache.disk`, :mod:`~runelift.runtime.cache.programs`.
"""
