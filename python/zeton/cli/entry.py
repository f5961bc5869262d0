"""The command `zeton`: its subcommands, each imported when it is used, and its errors."""

import io
import re
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

import zeton
from zeton.cli.interrupt import STOPPED, quiet_interrupts, raised_interrupts
from zeton.suggest import did_you_mean
from zeton.text.escape import visible

COMMANDS = {
    "train": ("Train a tokenizer on files and folders of text.", "train:train"),
    "learn": ("Train a tokenizer from counts of a corpus.", "learn:learn"),
    "encode": ("Encode text into token ids.", "encode:encode"),
    "decode": ("Decode token ids into text.", "decode:decode"),
    "count": ("Count the tokens of files.", "count:count"),
    "truncate": ("Cut a text to at most N tokens.", "truncate:truncate"),
    "chunk": ("Cut a text into chunks of at most N tokens.", "chunk:chunk"),
    "shard": ("Encode a corpus into shards of ids, to train a model on.", "shard:shard"),
    "find": ("Find plain text in files and in shards of ids.", "find:find"),
    "eval": ("Compare tokenizers by the bytes a token holds.", "evaluate:evaluate"),
    "show": ("Show the tokens of a text, its pieces (pre-tokens) and its merges.", "show:show"),
    "info": ("Describe a tokenizer: its size, pattern and special tokens.", "info:info"),
    "seq2seq": ("Train a model that turns texts into texts, and run it.", "seq2seq:seq2seq"),
    "accel": (
        "Encode on the hardware accelerator, simulated or real.",
        "accel:accel accel_serve accel_card",
    ),
}
"""Each command's summary, and its module with the command; more modules add subcommands."""


HELPS = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""Errors that print the help of a group without a command, in versions of click that have them."""


class Refusing(click.Command):
    """A command that turns every error of the package into one line and exit code 2."""

    def main(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - those of click.
        """Run the command as a program."""
        with quiet_interrupts():
            return super().main(*arguments, **options)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:  # noqa: ANN401
        """Read the command line."""
        try:
            return super().make_context(*arguments, **options)
        except HELPS:
            raise
        except click.UsageError as error:
            stop(usage(error), error.exit_code)
        except zeton.Error as error:
            stop(str(error), 2)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            with raised_interrupts():
                return super().invoke(ctx)
        except HELPS:
            raise
        except click.UsageError as error:
            stop(usage(error), error.exit_code)
        except zeton.Error as error:
            stop(str(error), 2)
        except BrokenPipeError:
            raise  # Click ends quietly.
        except OSError as error:
            named = error.filename is not None and error.strerror is not None
            stop(f"{error.filename}: {error.strerror}" if named else str(error), 2)
        except KeyboardInterrupt:
            stop("stopped", STOPPED)


class Commands(Refusing, click.Group):
    """All commands under one name. A command is imported when it is used, which saves 100 ms."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click hands it over)
        """Name the commands in the order of the data, not of the alphabet."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        first, *more = COMMANDS[cmd_name][1].split()
        module, name = first.split(":")
        command: click.Command = getattr(import_module(f"zeton.cli.commands.{module}"), name)
        for module in more:
            import_module(f"zeton.cli.commands.{module}")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest command for an unknown one."""
        name = str(args[0])
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"no such command {visible(name)!r}{did_you_mean(name, COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands with their whole summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (summary, _) in COMMANDS.items()])


def stop(reason: str, code: int) -> NoReturn:
    """Say in one line why the command ends, and end it."""
    click.echo(f"zeton: {visible(reason)}", err=True)
    sys.exit(code)


def usage(error: click.UsageError) -> str:
    """Return the one line of a usage error, with the command that prints the help, if known.

    >>> usage(click.UsageError("Give FILE or --ids, not both."))
    'give FILE or --ids, not both'
    """
    said = " ".join(error.format_message().split()).removesuffix(".")
    said = re.sub(r"\. \(?Did you mean(.*\?)\)?$", r"; did you mean\1", said)
    said = said[:1].lower() + said[1:]
    if error.ctx is None or said.endswith("?"):
        return said
    return f"{said}; `{error.ctx.command_path} --help` lists the options"


EPILOG = """\b
Examples:
  zeton train corpus/ -n 32k           saves the folder tokenizer
  zeton count notes.txt -t cl100k_base
  zeton encode --help                  options and examples of a command
"""


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(zeton.__version__, prog_name="zeton", message="%(prog)s %(version)s")
def main() -> None:
    """Train a byte pair encoding tokenizer, encode text, decode ids."""
