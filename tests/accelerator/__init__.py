"""Tests of `zeton.accel`, a file for each of its parts."""
