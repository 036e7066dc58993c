"""Kernels for segmented operations over the grid."""
