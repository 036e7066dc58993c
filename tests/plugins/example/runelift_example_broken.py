"""A plug-in that cannot be imported."""

raise ImportError("this machine lacks a library")
