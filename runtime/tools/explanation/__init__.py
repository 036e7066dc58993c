"""The way of a program to its kernels, as a page: passes, flattening, versions and kernels.

:mod:`~runelift.runtime.tools.explanation.history` watches a compilation, the other modules say what
is shown of it.  Entry point: :func:`~runelift.runtime.tools.explanation.page.explained`.
"""
