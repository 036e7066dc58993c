"""Programs that are rewritten by rules of their own, with these rules."""
