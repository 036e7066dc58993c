"""Reports of tuning as text and as facts for the JSON file; HTML is in ``html``.

Entry points: :func:`~runelift.runtime.tools.reports.text.render`,
:func:`~runelift.runtime.tools.reports.text.facts`.
"""
