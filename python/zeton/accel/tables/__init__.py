"""A tokenizer as memory images: the tables that a card is loaded with.

* `image`: all tables of a tokenizer, and the image that is streamed to the card.
* `image_cache`: images in the user's cache folder.
* `pairs`: the cuckoo hash table of pairs, from two ids to the id they merge to.
* `bridges`: the table that tells where a piece may be cut into parts.
* `hashes`: the linear hash functions of both.
"""
