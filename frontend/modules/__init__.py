"""The module language, evaluated away before types are checked.

It imports ``syntax``.  Entry point: :func:`~runelift.frontend.modules.modules.flatten_modules`.
"""
