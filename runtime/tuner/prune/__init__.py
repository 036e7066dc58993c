"""Pruning of versions that need not be run again, or at all."""
