"""Training: a corpus is counted, merges are learned from the counts."""
