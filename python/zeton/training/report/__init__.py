"""The page that shows a trained tokenizer."""
