"""Rewrite points and schedules: rewrites that a program names, with parameters.

Source: Mogers 2023, chapter 6.
"""
