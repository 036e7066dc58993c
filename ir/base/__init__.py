"""The ground floor: errors, their codes, source texts, files, JSON, plug-ins."""
