"""Code versions and the choice among them: thresholds, predicted times, size guards, the forest.

Tuning files are read and written here.  Read :mod:`~runelift.runtime.versions.forest` first.
"""
