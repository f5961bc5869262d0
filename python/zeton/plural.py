"""Numbers of things in messages."""

__all__ = ["counted"]


def counted(count: int, noun: str) -> str:
    """Return a number and its noun, which takes an "s" unless the number is 1.

    >>> counted(1, "file"), counted(2, "file"), counted(0, "file"), counted(12345, "token")
    ('1 file', '2 files', '0 files', '12,345 tokens')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"
