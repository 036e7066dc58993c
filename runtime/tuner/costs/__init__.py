"""Costs of versions from logged runs: the cost model, logs, noise, the overhead of recording.

Entry point: :func:`~runelift.runtime.tuner.costs.cost_model.costs_of`.
"""
