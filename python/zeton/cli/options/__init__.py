"""What several commands take: texts, tokenizers, samples, options of training."""
