"""Programs outside of the compiler: entry points with plans that ``runelift export`` has written.

:mod:`runelift.runtime.tools.export` copies this package, and all that it needs, beside a module.
"""
