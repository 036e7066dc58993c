"""The host plan: its syntax, and facts about its buffers."""
