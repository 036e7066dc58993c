"""The Python process itself: Ctrl-C, garbage collection, background threads, child interpreters,
messages.
"""
