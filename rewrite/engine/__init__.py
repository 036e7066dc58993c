"""Rules, the symbol table that they look things up in, and the walks that apply them.

It imports the IR only.  Read :mod:`~runelift.rewrite.engine.rule` first.
"""
