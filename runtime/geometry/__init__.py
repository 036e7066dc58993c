"""Launch geometry: sizes to work-groups, chunks and tiles, and the space of kernel parameters.

Its functions are pure.
"""
