"""What versions cost, from logged runs."""
