"""`confide validate`."""

from __future__ import annotations

from confide.cli import validate_options as options
from confide.cli.federation_common import JsonOption, split_names
from confide.cli.validation_output import show_plan, show_series, show_validation
from confide.errors import UsageError


def validate(
    federation: options.FederationOption,
    model_name: options.ModelOption,
    mode: options.ModeOption,
    study: options.StudyOption = None,
    epsilon: options.EpsilonOption = None,
    site_share: options.SiteShareOption = None,
    colluders: options.ColludersOption = None,
    minimum_cell: options.MinimumCellOption = None,
    grid: options.GridOption = None,
    rows: options.RowsOption = None,
    bins: options.BinsOption = 10,
    sites: options.SitesOption = None,
    fewest: options.FewestOption = None,
    timeout: options.TimeoutOption = 60,
    drop_after: options.DropAfterOption = 5,
    valid_days: options.ValidDaysOption = 30,
    null_auc: options.NullAucOption = None,
    level: options.LevelOption = 0.95,
    unit: options.UnitOption = "row",
    rows_per_person: options.RowsPerPersonOption = 1,
    edition: options.EditionOption = None,
    noise: options.NoiseOption = None,
    delta: options.DeltaOption = None,
    sensitivity: options.SensitivityOption = None,
    purpose: options.PurposeOption = None,
    every: options.EveryOption = None,
    series: options.SeriesOption = None,
    report: options.ReportOption = None,
    as_json: JsonOption = False,
    dry_run: options.DryRunOption = False,
) -> None:
    """Validate a model at several sites that share no rows.

    Every site counts its own rows; counts leave it under one of these promises:

    - disclosure-control: exact, in groups of at least 5 rows of a class. A rule of thumb, not a guarantee.

    - secure-sum: exact, but masked: only the sum over all sites (three or more) can be read.

    - private: differential privacy. Each site adds its share of noise, charges its own ledger first, and masks.

    - noisy-scores: noise on scores as in a published method, for comparison only. It is not differentially private.

    All sites are asked, and nothing is charged, before any site answers. Asking the same question again costs nothing
    more. Exit codes: 1 if a site failed or refused, 3 if it did for lack of budget, 4 if a person at a site has not
    decided yet, 130 if stopped.

    Examples:

        confide validate --federation net --model-name stroke-risk --mode private --epsilon 1 --rows 20000 --dry-run

        confide validate -f net --model-name stroke-risk --mode private -e 1 --rows 20000 --report stroke.html

        confide validate -f net --model-name stroke-risk --mode secure-sum --study stroke-2026 --null-auc 0.7 --json

        confide validate -f net --model-name stroke-risk --mode private -e 1/4 --every month --series stroke-over-time

        confide validate -f net --model-name stroke-risk --mode private -e 1/2 --noise gaussian --delta 1e-6

        confide validate -f net --model-name stroke-risk --mode disclosure-control --sites north,south,west --fewest 2
    """
    from confide.tasks.validate import request_validation

    request = request_validation(
        federation,
        model_name=model_name,
        mode=mode,
        study=study,
        epsilon=epsilon,
        site_share=site_share,
        colluders=colluders,
        minimum_cell=minimum_cell,
        grid=grid,
        rows=rows,
        bins=bins,
        sites=None if sites is None else split_names(sites),
        fewest=fewest,
        timeout=timeout,
        drop_after=drop_after,
        valid_days=valid_days,
        null_auc=null_auc,
        level=level,
        unit=unit,
        rows_per_person=rows_per_person,
        edition=edition,
        noise=noise,
        delta=delta,
        sensitivity=sensitivity,
        purpose=purpose,
    )
    if (every is None) != (series is None):
        raise UsageError("--every and --series belong together: how often, and the folder of the results")
    if every is not None and series is not None:
        show_series(request, series, every, report, dry_run=dry_run, as_json=as_json)
    elif dry_run:
        show_plan(request, as_json=as_json)
    else:
        show_validation(request, report, as_json=as_json)
