"""The Python process itself: Ctrl-C, garbage collection, threads, child interpreters, messages.

It imports ``cache`` only, and nothing large: processes that start import it first.
"""
