"""The vocabulary of each of OpenAI's models, as tiktoken 0.14.0 knows it."""

from zeton.suggest import nearest

__all__ = [
    "MODEL_PREFIX_TO_ENCODING",
    "MODEL_TO_ENCODING",
    "encoding_of_model",
    "nearest_model",
]


def _by_model(*groups: tuple[str, str]) -> dict[str, str]:
    """Turn encodings with the models of each into models with their encoding."""
    return {model: encoding for encoding, models in groups for model in models.split()}


MODEL_PREFIX_TO_ENCODING = _by_model(
    ("o200k_base", "o1- o3- o4-mini- gpt-5 gpt-4.5- gpt-4.1- chatgpt-4o- gpt-4o-"),
    ("cl100k_base", "gpt-4- gpt-3.5-turbo- gpt-35-turbo-"),
    ("o200k_harmony", "gpt-oss-"),
    ("o200k_base", "ft:gpt-4o"),
    ("cl100k_base", "ft:gpt-4 ft:gpt-3.5-turbo ft:davinci-002 ft:babbage-002"),
)
"""The encoding of every model whose name begins so. The first that fits counts."""

MODEL_TO_ENCODING = _by_model(
    ("o200k_base", "o1 o3 o4-mini gpt-5 gpt-4.1 gpt-4o"),
    ("cl100k_base", "gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002"),
    ("cl100k_base", "text-embedding-ada-002 text-embedding-3-small text-embedding-3-large"),
    ("p50k_base", "text-davinci-003 text-davinci-002 code-davinci-002 code-davinci-001"),
    ("p50k_base", "code-cushman-002 code-cushman-001 davinci-codex cushman-codex"),
    ("p50k_edit", "text-davinci-edit-001 code-davinci-edit-001"),
    ("r50k_base", "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001"),
    ("r50k_base", "davinci curie babbage ada"),
    ("r50k_base", "text-similarity-davinci-001 text-similarity-curie-001"),
    ("r50k_base", "text-similarity-babbage-001 text-similarity-ada-001"),
    ("r50k_base", "text-search-davinci-doc-001 text-search-curie-doc-001"),
    ("r50k_base", "text-search-babbage-doc-001 text-search-ada-doc-001"),
    ("r50k_base", "code-search-babbage-code-001 code-search-ada-code-001"),
    ("gpt2", "gpt2 gpt-2"),
)
"""The encoding of every model that is known by its whole name."""


def encoding_of_model(name: str) -> str | None:
    """Return the vocabulary of a model, or None for an unknown one.

    A prefix that fits need not belong to a model that exists.

    >>> encoding_of_model("gpt-4o"), encoding_of_model("gpt-4o-2024-05-13")
    ('o200k_base', 'o200k_base')
    """
    if name in MODEL_TO_ENCODING:
        return MODEL_TO_ENCODING[name]
    for prefix, encoding in MODEL_PREFIX_TO_ENCODING.items():
        if name.startswith(prefix):
            return encoding
    return None


def nearest_model(name: str) -> str | None:
    """Return a model by its name, or the model with the nearest name, or None if none is near.

    >>> nearest_model("gpt-4o-2024-05-13"), nearest_model("gpt4o"), nearest_model("cl100k")
    ('gpt-4o-2024-05-13', 'gpt-4o', None)
    """
    return name if encoding_of_model(name) is not None else nearest(name, MODEL_TO_ENCODING)
