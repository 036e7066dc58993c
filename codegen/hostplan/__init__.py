"""From versioned IR to host plans."""
