"""The command that opens the page."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path, readable=False))
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port to listen on; a free one if not given.",
)
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
def app(*, file: Path | None, port: int, no_browser: bool) -> None:
    """Open a page in the browser to find a release of FILE.

    The page runs on this machine only and makes no request to another. It can read files in the
    directory where it was started and below, and FILE. It writes only what you save there. End it
    with Ctrl-C.

    \b
    Examples:
      maskmeter app
      maskmeter app survey.sav
      maskmeter app survey.sav --port 8123 --no-browser
    """  # noqa: D301 - click reads \b as "keep these lines"
    from maskmeter.app.serving import serve
    from maskmeter.optional import check_installed

    check_installed("shiny", extra="app")  # it is loaded when the address is told

    def tell(address: str) -> None:
        click.echo(f"The page is at {address}")
        click.echo("The address works once. End the page with Ctrl-C.")

    serve(file, port=port, browse=not no_browser, tell=tell)
