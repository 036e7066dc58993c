"""Code versions and the choice among them: guards, defaults, size guards, the threshold forest.

Tuning files are read and written here.  It imports the IR only.  Read
:mod:`~runelift.runtime.versions.forest` first.
"""
