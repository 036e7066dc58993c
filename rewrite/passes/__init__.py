"""Passes: from core or versioned IR to the same."""
