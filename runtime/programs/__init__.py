"""The objects that users have: programs, entry points, functions, arrays of other libraries."""
