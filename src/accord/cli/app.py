"""The group of all commands, and what becomes of errors.

A command is a module of this package with a `command`; it is imported when it is called or listed. Its top level
imports nothing heavier than click, so that `accord --help` is quick.

Whatever goes wrong ends here as a message on standard error and an exit status. A person at a terminal never sees a
traceback for a mistake of their own.
"""

from __future__ import annotations

import os
import traceback
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import click
import rich_click
from click.exceptions import Exit, NoArgsIsHelpError

from accord import __version__
from accord.cli.exit_status import ExitStatus
from accord.errors import AccordError, ContractError, InternalError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["app"]

COMMANDS = (
    "new",
    "check",
    "lint",
    "fmt",
    "show",
    "project",
    "replay",
    "step",
    "events",
    "audit",
    "verify",
    "ledger",
    "sessions",
    "review",
    "trace",
    "studio",
    "explain",
)


@contextmanager
def _errors_as_messages() -> Iterator[None]:
    """Turns every error, foreseen or not, into a message on standard error and an exit status."""
    from accord.cli.terminal import complain, open_screen, print_diagnostics

    try:
        yield
    except ContractError as error:
        print_diagnostics(open_screen(err=True), error.diagnostics)
        raise Exit(ExitStatus.FINDINGS) from None
    except AccordError as error:
        complain(str(error))
        raise Exit(ExitStatus.INTERNAL if isinstance(error, InternalError) else ExitStatus.USAGE) from None
    except NoArgsIsHelpError:
        raise  # its message is the help page
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        complain(error.format_message(), f"see `{context.command_path} --help`" if context else "")
        raise Exit(ExitStatus.USAGE) from None
    except (KeyboardInterrupt, click.Abort):
        raise Exit(ExitStatus.INTERRUPTED) from None
    except BrokenPipeError:
        raise Exit(ExitStatus.PIPE_CLOSED) from None
    except OSError as error:
        complain(f"cannot read or write: {error.strerror or error}")
        raise Exit(ExitStatus.USAGE) from None
    except Exit:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it was, it was ours
        complain(str(InternalError(f"{type(error).__name__}: {error}")), "set ACCORD_TRACEBACK=1 to see where")
        if os.environ.get("ACCORD_TRACEBACK"):
            traceback.print_exc()
        raise Exit(ExitStatus.INTERNAL) from None


class _LazyGroup(rich_click.RichGroup):
    """Finds its commands in the modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        return cast("click.Command", import_module(f"accord.cli.{cmd_name}").command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from accord.diagnostics import did_you_mean
            from accord.diagnostics.visible import clip

            meant = did_you_mean(args[0], COMMANDS)
            ctx.fail(f"there is no command `{clip(args[0])}`" + (f"; did you mean `{meant}`?" if meant else ""))
        return super().resolve_command(ctx, args)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 - click's signature
    ) -> rich_click.RichContext:
        with _errors_as_messages():
            return cast("rich_click.RichContext", super().make_context(info_name, args, parent, **extra))

    def invoke(self, ctx: click.Context) -> object:
        with _errors_as_messages():
            return super().invoke(ctx)


@rich_click.group(
    cls=_LazyGroup,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "rich_help_config": {"text_paragraph_linebreaks": "\n\n"},
    },
    epilog="Exit status: " + " · ".join(f"{status:d} {status.meaning}" for status in ExitStatus),
)
@rich_click.version_option(__version__, message="%(prog)s %(version)s")
def app() -> None:
    """The contract layer for LLM agents: check and try out contracts, look at ledgers and sessions, decide."""
