"""`confide serve`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from confide.cli.options import AccountOption, LedgerOption
from confide.errors import UsageError


def serve(
    bundles: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[SERVER.ZIP]...", help="Contests to serve, as `confide contest new` wrote them."),
    ] = None,
    home: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of the database, the contests and the score files.")
    ] = Path("oracle"),
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on; put TLS before others.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(metavar="PORT", help="Port to listen on.")] = 8765,
    metrics_port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Port of this machine for metrics, in Prometheus' format.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of labels, for contests that charge each answer.")
    ] = None,
    ledger: LedgerOption = None,
    account: AccountOption = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check the sealed records and the score files, and do not serve.")
    ] = False,
    accept_rollback: Annotated[
        bool,
        typer.Option(
            "--accept-rollback",
            help="With --verify: go on with a database that is older than the home folder, and put that on record.",
        ),
    ] = False,
) -> None:
    """Serve contests: participants send scores, and get values that cannot give the labels away.

    The server holds masked labels alone. It listens on this machine only, unless --host says otherwise; let a reverse
    proxy add TLS. Contests of earlier runs with the same --home are served too. Set CONFIDE_ORACLE_DATABASE to
    postgresql+psycopg://... to keep records in PostgreSQL. Stop it with Ctrl-C or SIGTERM.

    **Example:** `confide serve heart/server.zip --home oracle`
    """
    if accept_rollback and not verify:
        raise UsageError("--accept-rollback needs --verify; stop the server, and give both")
    if verify:
        from confide.contest.server import administration

        check = administration.accept_rollback if accept_rollback else administration.verify
        typer.echo(check(home).summary())
        return
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # before NumPy is loaded: files are scored side by side, in a thread each
    from confide.contest.server.home import Settings
    from confide.contest.server.run import serve as run

    run(
        Settings(
            home=home,
            bundles=tuple(bundles or ()),
            host=host,
            port=port,
            metrics_port=metrics_port,
            labels=labels,
            ledger=ledger,
            account=account,
        )
    )
