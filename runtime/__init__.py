"""Devices, buffers, launches, records, the tuner and the command line."""
