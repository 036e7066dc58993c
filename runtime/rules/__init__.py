"""Files of rewrite rules: read, checked, and tested on random inputs before they are used.

Entry point: :func:`~runelift.runtime.rules.load.load_rules`.  The rules are applied by
:mod:`runelift.rewrite.lift.outside`.
"""
