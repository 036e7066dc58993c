"""Programs out of the compiler: a folder with a Python module that needs NumPy and PyOpenCL.

Entry point: :func:`~runelift.runtime.tools.export.folder.export`.
"""
