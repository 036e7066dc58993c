"""Records: the cost of each choice in a run, and estimates and statistics of costs.

It imports the host plan's language only.  Read :mod:`~runelift.runtime.records.record` first.
"""
