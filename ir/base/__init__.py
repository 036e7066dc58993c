"""What everything stands on: errors, their codes, source texts, files, JSON, plug-ins."""
