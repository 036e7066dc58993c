"""Pruning: evidence that a version need not be run again, or at all."""
