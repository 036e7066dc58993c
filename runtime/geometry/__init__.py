"""Launch geometry: sizes to work-groups, chunks and tiles, and the space of kernel parameters.

It imports the limits of devices and the host plan's language.  Its functions are pure.
"""
