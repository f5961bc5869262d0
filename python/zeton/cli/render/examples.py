"""The examples that end the help of a command."""


def examples(*commands: str) -> str:
    r"""Return an epilog for click, whose lines are not wrapped.

    >>> examples("zeton count a.txt", "zeton count < a.txt")
    '\x08\nExamples:\n  zeton count a.txt\n  zeton count < a.txt'
    """
    return "\n  ".join(["\b\nExamples:", *commands])
