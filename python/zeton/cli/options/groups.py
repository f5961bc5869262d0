"""A command with subcommands, whose help shows their whole summaries."""

import click

from zeton.cli.options.single import Single

SUMMARY_COLUMNS = 200


class Group(click.Group):
    """A group that does not cut the summaries of its commands."""

    command_class = Single

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their whole summaries."""
        names = self.list_commands(ctx)
        commands = [(name, self.get_command(ctx, name)) for name in names]
        rows = [
            (name, command.get_short_help_str(SUMMARY_COLUMNS))
            for name, command in commands
            if command is not None
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
