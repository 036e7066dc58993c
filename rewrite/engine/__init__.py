"""Rules, what they can look up, and the walks that apply them."""
