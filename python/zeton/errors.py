"""Every error that zeton raises, as one tree.

* Error
  + ArgumentError  an argument has a value that it cannot have   (also a ValueError)
  + ArgumentTypeError  an argument has a type that it cannot have   (also a TypeError)
  + VocabError     the tokens do not make a vocabulary           (also a ValueError)
  + SpecialError   the specials do not fit, or one is unknown    (also a ValueError)
  + PatternError   the pattern cannot be used                    (also a ValueError)
    - RulesError         rules contradict themselves             (also a PatternError)
  + TextError      the text cannot be encoded                    (also a ValueError)
  + IdError        an id stands for nothing                      (also a KeyError and a ValueError)
  + TrainError     training cannot do what it was asked          (also a ValueError)
  + CorpusError    a file of the corpus cannot be read as asked  (also a ValueError)
  + JobError       the units of a plan cannot be done as asked   (also a ValueError)
  + ChatError      a chat or its template cannot be rendered     (also a ValueError)
  + SearchError    a needle cannot be looked for                 (also a ValueError)
  + ShardError     shards cannot be made or read as asked        (also a ValueError)
  + FormatError    a file is not of the format it should be      (also a ValueError)
  + FileError      a file cannot be read or written              (also an OSError)
    - MissingFileError   it is not there                         (also a FileNotFoundError)
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
    "SpecialError",
    "TextError",
    "TrainError",
    "VocabError",
]


class Error(Exception):
    """Catch this to catch everything that zeton refuses."""


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
    """Rules contradict themselves, exceed a bound, or say what no rule says."""

    def __init__(self, message: str, where: tuple[str | int, ...] = ()) -> None:
        """Keep the way to the place as well: `("keep_words", 2)`."""
        super().__init__(message)
        self.where = where


class TextError(Error, ValueError):
    """A text is too long to be encoded at once."""


class IdError(Error, KeyError, ValueError):
    """An id is not in the vocabulary."""

    __str__ = Exception.__str__  # A KeyError would quote its message.


class TrainError(Error, ValueError):
    """The corpus or the options do not allow the training that was asked for."""


class CorpusError(Error, ValueError):
    """A file of the corpus is not what its name says."""


class JobError(Error, ValueError):
    """An engine is not there, or lost a unit of the work too often."""


class ChatError(Error, ValueError):
    """The conversation or the template cannot be rendered."""


class SearchError(Error, ValueError):
    """A needle is empty, too long, or has no case that could be ignored."""


class ShardError(Error, ValueError):
    """Shards cannot be written as asked, or are not what their manifest says."""


class FormatError(Error, ValueError):
    """A file is not a whole, valid one of a known format and version."""


class FileError(Error, OSError):
    """A file is not there, or the system refuses to read or write it."""


class MissingFileError(FileError, FileNotFoundError):
    """A file is not there."""


class MissingPackageError(Error, ModuleNotFoundError):
    """A package that one of zeton's extras installs is not installed."""


def file_error(path: object, what: str, reason: Exception) -> FileError:
    """Make the refusal of a file that cannot be read or written."""
    kind = MissingFileError if isinstance(reason, FileNotFoundError) else FileError
    return kind(f"{path} cannot be {what}: {getattr(reason, 'strerror', None) or reason}")
