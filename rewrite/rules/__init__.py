"""Rewrite rules, grouped by the construct they rewrite; each file ends in its book."""
