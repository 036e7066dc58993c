"""Search for the best parameters of each kernel, by trials in place.

It imports ``measure``, ``autotune``, ``trials`` and ``geometry``.  Entry point:
:func:`~runelift.runtime.tuner.kernel_parameters.tune.tune_parameters`.
"""
