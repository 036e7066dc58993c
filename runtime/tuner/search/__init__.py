"""Parts of all searches: spaces, budgets, halving, a bandit of techniques, and traces.

Thresholds, settings of kernels and schedules are three spaces
(:class:`~runelift.runtime.tuner.search.space.Space`).
"""
