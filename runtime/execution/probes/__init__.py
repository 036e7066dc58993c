"""Probes: programs that find out abilities of a device which no standard promises."""
