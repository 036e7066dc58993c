"""What people use: commands, editors, notebooks, pages, profiles, tests.  Nothing imports it."""
