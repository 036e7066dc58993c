"""Packages of programs: repositories, the versions that are chosen, and the folder ``lib``."""
