"""Tests of `jeton.accel`, a file for each of its parts."""
