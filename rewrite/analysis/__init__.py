"""What is known about indices and regions of arrays."""
