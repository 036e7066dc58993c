"""From text to surface syntax, and its types."""
