"""Long work on files: checkpoints, progress, memory limits, files written whole or not at all."""
