"""Which code version runs: guards and their defaults, size guards, the threshold forest, tuning
files.
"""
