"""Test blocks, input scripts, and the examples of error codes."""
