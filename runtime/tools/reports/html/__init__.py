"""Reports of tuning as one HTML file: no scripts, nothing from a network.

Entry point: :func:`~runelift.runtime.tools.reports.html.tuned.tuned`.
"""
