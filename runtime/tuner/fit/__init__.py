"""Thresholds and size guards from costs."""
