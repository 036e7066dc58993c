"""Costs of versions from logged runs: the cost model, logs, noise, the overhead of recording.

It imports ``records`` and ``versions``.  Entry point:
:func:`~runelift.runtime.tuner.costs.cost_model.costs_of`.
"""
