"""Texts and their ids: cut to a number of tokens, located, explained, encoded from file to file."""
