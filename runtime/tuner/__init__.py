"""From records to thresholds: what a choice cost decides the choice."""
