"""Analyses of programs in the languages, which several wings need."""
