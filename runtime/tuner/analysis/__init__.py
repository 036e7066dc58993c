"""What costs say about guards, for reports."""
