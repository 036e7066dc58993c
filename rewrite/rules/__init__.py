"""Rewrite rules, grouped by the construct they rewrite; each file ends in its book.

The docstring of a rule is its law.  Rules import ``engine`` only.
"""
