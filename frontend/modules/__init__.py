"""The module language, evaluated away."""
