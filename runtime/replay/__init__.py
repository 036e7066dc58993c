"""Runs in which every version is run at every encounter."""
