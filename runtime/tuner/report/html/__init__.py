"""Reports of tuning as one HTML file: no scripts, nothing from a network."""
