"""Running host plans: arguments, launches, loops in one kernel, repeated runs."""
