"""Search for the best parameters of each kernel, by trials in place.

Entry point: :func:`~runelift.runtime.tuner.kernel_parameters.tune.tune_parameters`.
"""
