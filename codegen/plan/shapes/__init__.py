"""Launch shapes: what the host plan asks of the device about the division of work, a file each.

The answers are in :mod:`runelift.runtime.geometry`, in files of equal names.
"""
