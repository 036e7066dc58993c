"""Which versions need not be run again, or at all."""
