"""Predictions of whole calls, also on devices that are not there."""
