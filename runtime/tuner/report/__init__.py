"""What tuning found, as text and as HTML."""
