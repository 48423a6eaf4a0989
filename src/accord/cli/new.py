"""`accord new`: a contract to begin with."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from accord.errors import UsageError

__all__ = ["command"]


@click.command("new")
@click.argument("name", required=False)
@click.argument("file", required=False, type=click.Path(path_type=Path))
def command(name: str | None, file: Path | None) -> None:
    """Write a contract to begin with; without a name, list them all.

    NAME is one of the templates, FILE where to write it: NAME.accord in this folder if left out, standard output if -.
    Into a folder it is written under its own name. A file that is there already is left alone.

    Exit status: 0 written · 2 there is no such template, or the file cannot be written.
    """
    from accord.cli.terminal import open_screen
    from accord.templates import template, templates

    screen = open_screen()
    if name is None:
        every = templates()
        width = max(len(one.name) for one in every)
        for one in every:
            screen.print(f"{screen.paint('strong', f'{one.name:<{width}}')}  {one.summary}")
        if screen.width is not None:  # for people; a program wants the list
            screen.print(screen.paint("faint", "`accord new NAME` writes one; `accord studio` shows them"))
        return
    chosen = template(name)
    if file == Path("-"):
        click.echo(chosen.text, nl=False)
        return
    target = Path(f"{chosen.name}.accord") if file is None else file
    if target.is_dir():
        target /= f"{chosen.name}.accord"
    try:
        with target.open("x", encoding="utf-8") as stream:
            stream.write(chosen.text)
    except FileExistsError:
        raise UsageError(f"{target} is there already, and is left as it is; name another file") from None
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror or error}") from None
    screen.print(f"{screen.paint('good', 'wrote')} {target}: {chosen.summary}")
    screen.print(screen.paint("faint", f"walk through it with `accord step {target}`"))
