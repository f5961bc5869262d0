"""The command line: parse, call the package, print.

Data goes to stdout and nothing else does; a refusal is one line on stderr and exit code 2.
"""

import io
import sys
from typing import NoReturn

import click

import zeton
from zeton.cli.commands.accel import accel
from zeton.cli.commands.accel_card import card_server, fake_card
from zeton.cli.commands.accel_serve import serve
from zeton.cli.commands.chunk import chunk
from zeton.cli.commands.count import count
from zeton.cli.commands.decode import decode
from zeton.cli.commands.encode import encode
from zeton.cli.commands.evaluate import evaluate
from zeton.cli.commands.find import find
from zeton.cli.commands.info import info
from zeton.cli.commands.learn import learn
from zeton.cli.commands.seq2seq import seq2seq
from zeton.cli.commands.shard import shard
from zeton.cli.commands.show import show
from zeton.cli.commands.train import train
from zeton.cli.commands.truncate import truncate
from zeton.text.escape import visible


class Refusing(click.Command):
    """A command that turns every refusal of the package into one line and exit code 2."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            return super().invoke(ctx)
        except zeton.Error as error:
            stop(str(error), 2)
        except BrokenPipeError:
            raise  # Click ends quietly.
        except OSError as error:
            named = error.filename is not None and error.strerror is not None
            stop(f"{error.filename}: {error.strerror}" if named else str(error), 2)
        except KeyboardInterrupt:
            stop("stopped", 130)


class Commands(Refusing, click.Group):
    """All commands under one name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click hands it over)
        """Name the commands in the order of the data, not of the alphabet."""
        return list(self.commands)


def stop(reason: str, code: int) -> NoReturn:
    """Say in one line why the command ends, and end it."""
    click.echo(f"zeton: {visible(reason)}", err=True)
    sys.exit(code)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(zeton.__version__, prog_name="zeton", message="%(prog)s %(version)s")
def main() -> None:
    """Byte pair encoding: train a tokenizer, encode text, decode ids."""


for command in (
    train,
    learn,
    encode,
    decode,
    count,
    truncate,
    chunk,
    shard,
    find,
    evaluate,
    show,
    info,
    seq2seq,
    accel,
):
    main.add_command(command)
for command in (serve, card_server, fake_card):
    accel.add_command(command)
