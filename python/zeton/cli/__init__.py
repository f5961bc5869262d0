"""The command line: parse, call the package, print.

Data goes to stdout and nothing else does; an error is one line on stderr and exit code 2.
"""

from zeton.cli.interrupt import quiet_interrupts

with quiet_interrupts():
    from zeton.cli.entry import Refusing, main

__all__ = ["Refusing", "main"]
