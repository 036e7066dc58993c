"""Records: what each choice cost."""
