"""nanochat's surface on our engine: `from zeton.nanochat import RustBPETokenizer, get_tokenizer`.

Ids, masks, colours and folders are nanochat's; docs/nanochat.md lists what was mended. The scripts
are `python -m zeton.nanochat.tok_train` and `python -m zeton.nanochat.tok_eval`.
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
