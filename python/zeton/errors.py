"""Every error that zeton raises, as one tree.

* Error
  + ArgumentError  an argument has a value that it cannot have   (also a ValueError)
  + ArgumentTypeError  an argument has a type that it cannot have   (also a TypeError)
  + VocabError     the tokens do not make a vocabulary           (also a ValueError)
  + SpecialError   the specials do not fit, or one is unknown    (also a ValueError)
  + PatternError   the pattern cannot be used                    (also a ValueError)
    - RulesError         rules contradict themselves             (also a PatternError)
  + TextError      the text cannot be encoded                    (also a ValueError)
  + IdError        an id is not in the vocabulary                (also a KeyError and a ValueError)
  + TrainError     training cannot be done as asked              (also a ValueError)
  + CorpusError    a file of the corpus cannot be read as asked  (also a ValueError)
  + JobError       an executor cannot do the work                (also a ValueError)
  + ChatError      a chat or its template cannot be rendered     (also a ValueError)
  + SearchError    a needle cannot be searched for               (also a ValueError)
  + ShardError     shards cannot be made or read as asked        (also a ValueError)
    - ShardPlaceError    a text, row or token is not there       (also an IndexError)
  + FormatError    a file is damaged or of another format        (also a ValueError)
  + FileError      a file cannot be read or written              (also an OSError)
    - MissingFileError   the file is missing                     (also a FileNotFoundError)
  + MissingPackageError  a package of an extra is not installed  (also a ModuleNotFoundError)

Every message is one line: the value found, the value expected, and the way out. For example:
`there is no pretrained vocabulary 'cl100k'; did you mean 'cl100k_base'?`

The surfaces of other libraries keep the words that programs look for, and add the errors of these
libraries: `_compat.ArgumentError`, `tiktoken.model.ModelError`, `tiktoken.load.MismatchError`.
"""

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "ChatError",
    "CorpusError",
    "Error",
    "FileError",
    "FormatError",
    "IdError",
    "JobError",
    "MissingFileError",
    "MissingPackageError",
    "PatternError",
    "RulesError",
    "SearchError",
    "ShardError",
    "ShardPlaceError",
    "SpecialError",
    "TextError",
    "TrainError",
    "VocabError",
]


class Error(Exception):
    """The base of every error that zeton raises."""


class ArgumentError(Error, ValueError):
    """An argument has a value that it cannot have."""


class ArgumentTypeError(Error, TypeError):
    """An argument has a type that it cannot have."""


class VocabError(Error, ValueError):
    """The tokens break a rule of vocabularies."""


class SpecialError(Error, ValueError):
    """The specials break a rule, or a name is not among them."""


class PatternError(Error, ValueError):
    """The pattern does not compile, exceeds a bound or drops text."""


class RulesError(PatternError):
    """Rules contradict themselves, exceed a bound, or have an unknown field."""

    def __init__(self, message: str, where: tuple[str | int, ...] = ()) -> None:
        """Keep the path to the wrong field too, such as `("keep_words", 2)`."""
        super().__init__(message)
        self.where = where


class TextError(Error, ValueError):
    """A text cannot be encoded, cut or located as asked."""


class IdError(Error, KeyError, ValueError):
    """An id is not in the vocabulary."""

    __str__ = Exception.__str__  # A KeyError would quote its message.


class TrainError(Error, ValueError):
    """The corpus or the options do not allow this training."""


class CorpusError(Error, ValueError):
    """A file of the corpus does not match its name, or cannot be read."""


class JobError(Error, ValueError):
    """An executor is not available, or a unit of the work failed too often."""


class ChatError(Error, ValueError):
    """The conversation or the template cannot be rendered."""


class SearchError(Error, ValueError):
    """A needle is empty, too long, or has no case to ignore."""


class ShardError(Error, ValueError):
    """Shards cannot be written as asked, or do not match their manifest."""


class ShardPlaceError(ShardError, IndexError):
    """Shards have fewer texts, rows or tokens."""


class FormatError(Error, ValueError):
    """A file is cut off, damaged, or of an unknown format or version."""


class FileError(Error, OSError):
    """A file is missing, or the system refuses to read or write it."""


class MissingFileError(FileError, FileNotFoundError):
    """A file is missing."""


class MissingPackageError(Error, ModuleNotFoundError):
    """A package that one of zeton's extras installs is not installed."""


def file_error(path: object, what: str, reason: Exception) -> FileError:
    """Return the error for a file that cannot be read or written."""
    kind = MissingFileError if isinstance(reason, FileNotFoundError) else FileError
    return kind(f"{path} cannot be {what}: {getattr(reason, 'strerror', None) or reason}")
