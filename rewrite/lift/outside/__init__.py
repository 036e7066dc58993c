"""Rules from outside: rewrites that a file brings, as two functions of one type.

The left side is a pattern on core IR; the parameters of the rule are its metavariables.
:mod:`.pattern` prepares the sides, :mod:`.matching` finds what the parameters stand for,
:mod:`.instance` makes the right side, and :mod:`.apply` is the pass.
"""
