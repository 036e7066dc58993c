"""Profiles: times of kernels beside their work and the measured peaks of the device."""
