"""Notebooks: HTML of programs, trees, texts, records and tunings, and the magic ``%%runelift``.

Each module of looks has a function ``html``; :mod:`runelift.runtime.displayed` finds it by name.
"""
