"""Tools for people: commands, editors, notebooks, pages, profiles, tests.  No other wing imports it."""
