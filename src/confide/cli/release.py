"""`confide release`: release metrics under differential privacy."""

from __future__ import annotations

from confide.cli import options, output, release_output
from confide.cli import release_options as own
from confide.cli.inputs import readable
from confide.cli.table_options import EngineOption, OptionalFile, Query, Table, choose_source, local_file
from confide.errors import UsageError


def release(
    file: OptionalFile = None,
    label: options.Label = None,
    score: own.Score = None,
    model: own.Model = None,
    epsilon: own.Epsilon = None,
    metrics: own.Metrics = None,
    delta: options.Delta = "0",
    neighbours: own.Neighbours = None,
    mechanism: own.Mechanism = "auto",
    positive: options.PrivatePositive = None,
    threshold: own.Threshold = None,
    grid: own.GridOption = None,
    strategy: own.Strategy = "auto",
    shape: own.Shape = None,
    target: own.TargetOption = None,
    safe: own.Safe = False,
    with_auc: own.WithAuc = False,
    prevalence_guess: own.PrevalenceGuess = None,
    unit: own.Unit = None,
    rows_per_person: options.RowsPerPerson = None,
    level: options.Level = 0.95,
    ledger: options.LedgerOption = None,
    account: options.AccountOption = None,
    analyst: options.Analyst = None,
    also_charge: options.AlsoCharge = False,
    dry_run: options.DryRun = False,
    as_json: options.AsJson = False,
    out: own.Out = None,
    report: own.Report = None,
    title: options.Title = None,
    reveal: own.Reveal = False,
    table: Table = None,
    query: Query = None,
    engine: EngineOption = None,
    data_name: own.DataName = None,
) -> None:
    """Release metrics under differential privacy, with intervals, and charge the ledger.

    The budget is charged before noise is drawn, and never refunded. The same question about the same file gets the
    same answer at no further cost. A request that does not fit is refused with exit code 3. Open accounts with
    `confide ledger new`.

    Each score must be a function of its own row: no ranks, nothing standardised by these rows. Round scores that a
    model gave for many rows at once, for example to six decimals: their last digits depend on the other rows.

    Metrics: auc, average_precision, brier, prevalence, confusion (all that follows from the matrix at
    --threshold), or single measures of it: accuracy, recall, specificity, precision, f1, ...

    A table in a database (--table) is identified by the name and version that you declare (--data-name). Declare a new
    version whenever its rows change. Counts on a grid or at a threshold are taken inside the database. With --query the
    number of rows is private too, as it depends on values: give --neighbours add-remove-one.

    With --model, the rows that were held out of training are read and scored by the model. Their cost does not add
    up with that of the training. To evaluate a model on another file, score the file with `confide predict` and name
    the --score.

    Curves, with bands: roc, pr, calibration (curves for all three) and counts, the table behind them; --target
    chooses a threshold on them. With a curve or a target, everything that is requested, observed_expected too,
    follows from one table of noisy counts. Another --level, --shape, --target or curve then costs nothing; another
    --grid, --strategy or --threshold costs again.

    The AUC of a curve has a wide interval if scores have few values. With --with-auc, a quarter of epsilon buys an AUC
    with noise of its own, in the same charge.

    Examples:

        confide ledger new trial-7 --epsilon 3 --data scores.csv

        confide release scores.csv --label died --score risk --epsilon 1 --account trial-7 --dry-run

        confide release scores.csv -l died -s risk -e 1 --account trial-7 --report auc.html

        confide release scores.csv -l died -s risk -e 2 -m auc,average_precision,recall -t 0.2 --account trial-7 --json

        confide release scores.csv -l died -s risk -e 1 --account trial-7 --out published.json --report published.html

        confide release scores.csv -l died -s risk -e 1 -m roc,pr,calibration --grid logit:64 --account trial-7

        confide release scores.csv -l died -s risk -e 1 -m curves,auc --target recall=0.9 --safe --account trial-7

        confide release scores.csv -l died -s points -e 1 -m roc --grid uniform:12:0:12 --with-auc --account trial-7

        confide release test.csv -l won -s submission -e 0.1 --neighbours label-only --account contest --analyst team-4

        confide release messages.csv --model model.json -m auc,accuracy --account messages --report evaluation.html

        confide release --table postgresql://db.example/heart/trial.scores --data-name "heart attacks, version 2"
        -l died -s risk -e 1 -m roc,pr --grid logit:64 --account heart
    """
    source = choose_source(file, table, query, engine)
    private = local_file(source)
    output.check_published_page(report, private, ledger)
    output.check_json_out(out, private, ledger, model)
    if reveal and report is None:
        raise UsageError("--reveal draws exact curves on a report and nowhere else; give --report OUT.html with it")
    from confide.tasks.release import prepare_release

    with output.busy("reading"):
        ready = prepare_release(
            readable(source) if isinstance(source, str) else source,
            label=label,
            score=own.at_most_one(score, "--score"),
            model=model,
            positive=positive,
            metrics=own.split_names(metrics, "auc"),
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours,
            mechanism=mechanism,
            threshold=own.at_most_one(threshold, "--threshold"),
            grid=grid,
            strategy=strategy,
            shape=shape,
            target=own.at_most_one(target, "--target"),
            safe=safe,
            with_auc=with_auc,
            prevalence_guess=prevalence_guess,
            unit=unit,
            rows_per_person=rows_per_person,
            level=level,
            ledger=ledger,
            account=account,
            analyst=analyst,
            also_charge=also_charge,
            reveal=reveal,
            data_name=data_name,
        )
    release_output.print_remarks(ready)
    if dry_run:
        release_output.print_price(ready.quote(), as_json=as_json)
        return
    with output.busy("charging the ledger and drawing noise"):
        done = ready.pay()
    release_output.write_document(done, out)
    release_output.write_page(done, report, title)
    release_output.print_result(done, as_json=as_json)
