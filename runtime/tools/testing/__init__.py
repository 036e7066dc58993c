"""Test blocks, input scripts, and the examples of error codes.

Entry points: :func:`~runelift.runtime.tools.testing.test_blocks.cases_of`,
:func:`~runelift.runtime.tools.testing.scripts.evaluate`.
"""
