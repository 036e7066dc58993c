"""Search for the best parameters of each kernel."""
