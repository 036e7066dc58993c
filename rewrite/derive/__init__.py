"""Derivatives: ``jvp`` and ``vjp`` of lambdas become ordinary statements.

Each construct has a rule for forward mode and one for reverse mode or more, all with their laws.
"""
