"""Patterns: the forms in which one is given, its meaning, and the engine that runs it."""
