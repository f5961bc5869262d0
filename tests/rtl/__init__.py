"""Tests of the accelerator: each block in a simulator, then lanes and the whole, proofs, lints."""
