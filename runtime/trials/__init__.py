"""Runs in which operations are tried with other parameters."""
