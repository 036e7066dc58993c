"""The host plan: the language, and what is known about its buffers."""
