"""Command `python -m studies stoddard-attacks`."""

from __future__ import annotations

from typing import Annotated

import typer

from confide.cli import output


def stoddard_attacks(
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", metavar="E", help="Epsilon that the methods claim.")] = "1",
    trials: Annotated[
        int, typer.Option(metavar="N", min=1, help="Runs of cluster selection for each of two datasets.")
    ] = 500,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the noise.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Refute the privacy claims of three selection methods of Stoddard, Chen & Machanavajjhala (2014).

    Each line names a method, an answer and the epsilon that this answer really loses between two neighbouring datasets.
    A loss above the claim refutes the method. Losses are computed exactly, except for the simulated cluster splits.

    Examples:

        python -m studies stoddard-attacks

        python -m studies stoddard-attacks --epsilon 0.1 --json
    """
    import numpy as np

    from studies.stoddard.attacks.summary import refuted_claims

    with output.busy("computing losses"):
        lines = refuted_claims(epsilon, trials=trials, rng=np.random.default_rng(seed))
    if as_json:
        document = {"schema": "confide.study/1", "study": "stoddard-attacks"}
        output.print_json({**document, "refutations": [line.to_dict() for line in lines]})
        return
    for line in lines:
        typer.echo(line.text)
