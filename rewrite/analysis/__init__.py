"""Analyses of indices and regions of arrays."""
