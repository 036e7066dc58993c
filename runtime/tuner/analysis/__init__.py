"""Analyses of costs for reports: curves of guards, winners, conflicts between datasets."""
