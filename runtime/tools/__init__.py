"""Tools for people: commands, editors, notebooks, pages, profiles, tests."""
