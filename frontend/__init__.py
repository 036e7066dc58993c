"""From source text to core IR: parse, check, elaborate."""
