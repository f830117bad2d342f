"""Options of `confide federation`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

FEWEST_DEMO_SITES, MOST_DEMO_SITES = 3, 5

FolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="The federation's folder.")]
NewFolderArgument = Annotated[Path, typer.Argument(metavar="DIR", help="A new folder; it holds keys, so keep it safe.")]
NameOption = Annotated[str, typer.Option(metavar="NAME", help="The federation's name.")]
SitesOption = Annotated[list[str], typer.Option("--site", metavar="SITE", help="A site's name; repeat for each.")]
ServerOption = Annotated[
    str,
    typer.Option(metavar="HOST", help="The name by which sites reach the server; localhost is for one machine alone."),
]
PortOption = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=65535, help="The server's port. [default: 8002; a free one on localhost]"),
]
ListenOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        max=65535,
        help="The port at which the server listens, if a balancer passes connections on from --port. [default: --port]",
    ),
]
RequestArgument = Annotated[
    Path, typer.Argument(metavar="REQUEST", help="The file that `confide site request` made at the site.")
]
ComparedOption = Annotated[
    bool, typer.Option("--compared", help="I have compared the site's fingerprint by telephone, or on paper.")
]
DaysOption = Annotated[int, typer.Option(metavar="N", min=1, max=3650, help="Days for which certificates are valid.")]
NewServerOption = Annotated[
    str | None, typer.Option("--server", metavar="HOST", help="The server moved: its new name.")
]
NewPortOption = Annotated[
    int | None, typer.Option("--port", metavar="N", min=1, max=65535, help="The server moved: its new port.")
]
NewListenOption = Annotated[
    int | None,
    typer.Option(
        "--listen",
        metavar="N",
        min=1,
        max=65535,
        help="The server now listens at this port of its machine, behind a balancer that passes connections on from "
        "--port; the same number as --port if there is no balancer any more. [default: as before]",
    ),
]
BackgroundOption = Annotated[
    bool, typer.Option("--background", help="Return at once; stop it with `confide federation stop`.")
]

DemoFolder = Annotated[
    Path | None, typer.Argument(metavar="[DIR]", help="A new folder for everything. [default: a temporary one]")
]
DemoSites = Annotated[
    int | None,
    typer.Option(metavar="N", min=FEWEST_DEMO_SITES, max=MOST_DEMO_SITES, help="Number of hospitals. [default: 5]"),
]
DemoModes = Annotated[
    list[str] | None,
    typer.Option(
        "--mode",
        metavar="MODE",
        help="disclosure-control, secure-sum, private; repeatable. [default: all, one after another]",
    ),
]
DemoEpsilon = Annotated[
    str | None,
    typer.Option("--epsilon", "-e", metavar="E", help="Mode private: the epsilon that each site charges. [default: 1]"),
]
DemoShare = Annotated[
    str | None,
    typer.Option(
        metavar="F",
        help="Mode private: the share of epsilon for each site's own results. [default: 1/2; 0 for the 500 patients, "
        "too few at a site to be seen through noise]",
    ),
]
DemoData = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Rows of your own. [default: 500 patients after a heart attack]")
]
DemoLabel = Annotated[
    str | None,
    typer.Option("--label", "-l", metavar="COL", help="With --data: column of labels, which has two values."),
]
DemoScore = Annotated[str | None, typer.Option("--score", "-s", metavar="COL", help="With --data: column of scores.")]
DemoPositive = Annotated[
    str | None,
    typer.Option(metavar="VALUE", help="With --data: the label of positive rows, unless labels are 0/1."),
]
DemoModelFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Instead of --score: a model that each site runs.")
]
DemoFeatures = Annotated[
    str | None, typer.Option(metavar="A,B,...", help="With --model-file: the columns that it takes.")
]
DemoSiteColumn = Annotated[
    str | None,
    typer.Option(metavar="COL", help="With --data: column that names each row's site. [default: rows in turn]"),
]
DemoTimeout = Annotated[float, typer.Option(metavar="SECONDS", help="The most that each round may take.")]
DemoReport = Annotated[
    Path | None,
    typer.Option(metavar="OUT.html", help="With one --mode: the file of its report. [default: in the folder]"),
]
