"""Reports of tuning as one HTML file: no scripts, nothing from a network.

It imports all that it shows: results, parameters, strategies.  Entry point:
:func:`~runelift.runtime.tools.reports.html.tuned.tuned`.
"""
