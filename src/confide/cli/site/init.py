"""`confide site init`."""

from __future__ import annotations

from confide.cli import output
from confide.cli.federation_common import JsonOption, print_next, print_notes, split_names
from confide.cli.site.options import (
    BudgetOption,
    DataOption,
    FeaturesOption,
    KitArgument,
    LabelOption,
    ModelFileOption,
    ModelOption,
    ModesOption,
    PositiveOption,
    QueryOption,
    RangeOption,
    RequestFolderArgument,
    ScoreOption,
    SiteDeltaOption,
    StudiesOption,
    StudyBudgetOption,
    parse_range,
)


def init(
    kit: KitArgument,
    folder: RequestFolderArgument,
    model_name: ModelOption,
    data: DataOption,
    label: LabelOption,
    positive: PositiveOption = None,
    score: ScoreOption = None,
    model_file: ModelFileOption = None,
    features: FeaturesOption = None,
    score_range: RangeOption = None,
    studies: StudiesOption = None,
    epsilon_in_all: BudgetOption = None,
    epsilon_per_study: StudyBudgetOption = None,
    delta_in_all: SiteDeltaOption = None,
    query: QueryOption = None,
    modes: ModesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set up a site with the kit that the coordinator sent back, in the folder of its request.

    Reads the data once to check that they can be counted, before anything is written; nothing of them is printed,
    copied or sent. The folder has the keys that `confide site request` made. It gets site.toml (data and models),
    policy.toml (what you allow: read it) and a ledger of the privacy budget. The site
    answers with noise only, unless --modes names other modes.

    Examples:

        confide site init north.zip site --model-name stroke-risk --data rows.parquet --label died --score risk

        confide site init north.zip site --model-name stroke-risk -d rows.csv -l died -s risk --study stroke-2026

        confide site init north.zip site --model-name stroke -d rows.csv -l died -s risk --modes private,secure-sum

        confide site init north.zip site --model-name stroke -d rows.csv -l died --model-file m.onnx --features age,sex

        confide site init north.zip site --model-name stroke -d postgresql://db/cdm --query cohort.sql -l died -s risk
    """
    from confide.report.validation.site_notes import data_notes, mode_notes
    from confide.report.validation.site_text import print_new_site
    from confide.tasks.site import init_site
    from confide.tasks.site_status import site_status

    with output.busy("reading the data once, to check that they can be counted"):
        new = init_site(
            kit,
            folder,
            model_name=model_name,
            data=data,
            label=label,
            positive=positive,
            score=score,
            model_file=model_file,
            features=split_names(features),
            score_range=parse_range(score_range),
            studies=studies or (),
            epsilon_in_all=epsilon_in_all,
            epsilon_per_study=epsilon_per_study,
            delta_in_all=delta_in_all,
            query=query,
            modes=split_names(",".join(modes)) if modes else (),
        )
    print_notes(data_notes(new.check))
    status = site_status(new.folder.path, requests=0)
    if as_json:
        output.print_json(status.to_dict())
    else:
        print_new_site(status, output.console())
    print_notes(mode_notes(status.policy))
    policy = (str(new.folder.policy),)
    print_next(
        ("Compare the root's fingerprint with the coordinator by telephone; do not start if it differs.", ()),
        ("Read what this site allows, and change it if need be:", policy),
        ("Connect to the federation, now and after each restart of this machine:", (f"confide site start {folder}",)),
        ("Compare fingerprints with the other sites by telephone, and list all of them at [peers] in:", policy),
    )
