"""Analyses of costs for reports: curves of guards, winners, conflicts between datasets.

It imports ``costs`` and ``fit``.
"""
