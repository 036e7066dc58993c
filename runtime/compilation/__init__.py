"""Compilation from source text to compiled programs, and the reuse of programs kept on disk.

Entry points: :func:`~runelift.runtime.compilation.pipeline.compile_source`,
:class:`~runelift.runtime.compilation.compiled.Compiled`,
:mod:`~runelift.runtime.compilation.reuse`.
"""
