"""Functions that several examples import."""
