"""Expressions and definitions, one after the other: ``runelift repl``.

:mod:`.session` keeps definitions and evaluates expressions, :mod:`.answers` knows the commands
such as ``:type``, and :mod:`.prompt` reads what is typed.
"""
