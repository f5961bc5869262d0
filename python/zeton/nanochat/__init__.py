"""nanochat's tokenizer on zeton's engine: import from `zeton.nanochat` instead.

In every file that imports `nanochat.tokenizer`, import from `zeton.nanochat`. Ids, masks, colours
and folders equal nanochat's; docs/nanochat.md lists the differences. Two scripts come with it:
`python -m zeton.nanochat.tok_train` and `python -m zeton.nanochat.tok_eval`.
"""

from zeton.nanochat.folder import get_base_dir, get_token_bytes
from zeton.nanochat.tokenizer import (
    SPECIAL_TOKENS,
    SPLIT_PATTERN,
    RustBPETokenizer,
    get_tokenizer,
)

__all__ = [
    "SPECIAL_TOKENS",
    "SPLIT_PATTERN",
    "RustBPETokenizer",
    "get_base_dir",
    "get_token_bytes",
    "get_tokenizer",
]
