"""What all searches share: spaces, budgets, halving, a bandit of techniques, and their traces.

Thresholds, settings of kernels and schedules are three spaces
(:class:`~runelift.runtime.tuner.search.space.Space`).
"""
