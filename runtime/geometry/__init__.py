"""Launch geometry: from sizes to work-groups, chunks and tiles, and the values that parameters can
have.
"""
