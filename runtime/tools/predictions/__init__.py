"""Predicted costs for people: tables of versions, and times over a size."""
