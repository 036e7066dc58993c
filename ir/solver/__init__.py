"""The solver of constraints on sizes and parameters."""
