"""From source text to compiled programs."""
