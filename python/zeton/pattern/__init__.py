"""Patterns: how one is given, what it means, and which engine runs it."""
