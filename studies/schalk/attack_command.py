"""Command `python -m studies schalk-attacks`."""

from __future__ import annotations

from typing import Annotated

import typer

from confide.cli import output


def schalk_attacks(
    sites: Annotated[int, typer.Option(metavar="N", min=2, help="Number of simulated sites.")] = 3,
    rows: Annotated[int, typer.Option(metavar="N", min=1, help="Rows at the smallest site.")] = 50,
    scale: Annotated[float, typer.Option(metavar="S", help="Standard deviation of the noise.")] = 0.4,
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the simulated scores.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")] = False,
) -> None:
    """Remove the noise from scores whose noise comes from a seed that all sites share.

    The R packages of Schalk and others (2024) derive the seed of every site from a number that the coordinator sends.
    Simulates such sites, attacks what they send, and prints the largest error of the recovered scores. Needs no data.

    Examples:

        python -m studies schalk-attacks

        python -m studies schalk-attacks --sites 5 --scale 2 --json
    """
    from studies.schalk.shared_seed import attack_simulated_sites

    with output.busy("attacking"):
        attack = attack_simulated_sites(sites=sites, rows=rows, scale=scale, seed=seed)
    if as_json:
        output.print_json({"schema": "confide.study/1", "study": "schalk-attacks", **attack.to_dict()})
        return
    typer.echo(f"{attack.sites} sites add noise with standard deviation {scale:g} from a shared seed.")
    typer.echo(f"Coordinator who knows the seed: every score to within {attack.known_seed:.1e}.")
    typer.echo(f"Coordinator who tries {attack.seeds_tried:,} seeds: {attack.fitting_seeds} seed fits the scores.")
    typer.echo(f"Site that knows its own scores: the other sites' scores to within {attack.known_site:.1e}.")
    typer.echo(f"The same attack when each site draws its own noise: errors up to {attack.own_noise:.2g}.")
