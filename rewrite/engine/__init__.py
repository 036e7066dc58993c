"""Rules, the symbol table that they look things up in, and the walks that apply them."""
