"""The tuner: measure versions, fit thresholds to their costs, verify them beside the default.

Its packages, from the bottom: ``costs``, ``prune``, ``measure``, ``fit``, ``analysis``,
``workers``, ``kernel_parameters``, ``strategies``, ``report``.  Entry points:
:func:`~runelift.runtime.tuner.autotune.tune`, :func:`~runelift.runtime.tuner.autotune.autotune`.
"""
