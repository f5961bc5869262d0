"""The encodings of OpenAI's models, from tiktoken 0.14.0."""

from zeton.errors import Error
from zeton.models import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING, encoding_of_model
from zeton.tiktoken.core import Encoding
from zeton.tiktoken.registry import get_encoding

__all__ = [
    "MODEL_PREFIX_TO_ENCODING",
    "MODEL_TO_ENCODING",
    "ModelError",
    "encoding_for_model",
    "encoding_name_for_model",
]


class ModelError(Error, KeyError):
    """No encoding is known for a model."""

    __str__ = Exception.__str__  # A KeyError would quote its message.


def encoding_name_for_model(model_name: str) -> str:
    """Return the name of a model's encoding, by its whole name or else by its beginning."""
    encoding_name = encoding_of_model(model_name)
    if encoding_name is not None:
        return encoding_name
    message = f"Could not automatically map {model_name} to a tokeniser."
    raise ModelError(f"{message} Name its encoding yourself, with get_encoding.")


def encoding_for_model(model_name: str) -> Encoding:
    """Return a model's encoding."""
    return get_encoding(encoding_name_for_model(model_name))
