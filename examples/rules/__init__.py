"""Programs with the rules that rewrite them."""
