"""Fitting: thresholds and size guards from costs, exactly where that is feasible.

Entry points: :func:`~runelift.runtime.tuner.fit.fit.fit`,
:func:`~runelift.runtime.tuner.fit.size_guards.fit_size_guards`.
"""
