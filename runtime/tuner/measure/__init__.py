"""Runs that measure: which, how often, for how long, and how two choices are compared."""
