"""Choice of code versions: guards and their defaults, size guards, the threshold forest, tuning
files.
"""
