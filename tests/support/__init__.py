"""Shared by tests: paths, strategies, the command, and makers of test data."""
