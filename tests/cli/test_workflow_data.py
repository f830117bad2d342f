"""Which file a charge is about, and which column holds what is hidden: what may not be mixed in one account."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from confide.errors import ParameterError
from tests.cli.desk import Desk
from tests.cli.workflow_bench import COLUMNS, TRIAL, Bench, bench_at, made_patients
from tests.noises import FORBIDDEN


@pytest.fixture
def bench(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    yield from bench_at(desk, monkeypatch)


def test_sides_of_two_versions_of_a_file_add_up(bench: Bench) -> None:
    """A row that was corrected may lie on the other side: trained on in one version, evaluated in the next."""
    bench.patients()
    older = [(key, age + 1, sex, smoker, died) for key, age, sex, smoker, died in made_patients()]  # type: ignore[operator]
    bench.patients("later.csv", older)
    bench.done("train", "patients.csv", *COLUMNS, *TRIAL, "-o", "model.json")
    release = ("--model", "model.json", "-m", "accuracy", *TRIAL)
    bench.done("release", "patients.csv", *release)
    assert bench.spent() == 1
    bench.done("release", "later.csv", *release)
    assert bench.spent() == 2


def test_the_same_rows_in_another_file_are_another_file(bench: Bench) -> None:
    """The ids of one are written with zeros in front, and so have other keys."""
    head, rows = ("id", "age", "sex", "smoker", "died"), made_patients()
    for name, spelt in (("padded.csv", "{:04}"), ("plain.csv", "{}")):
        bench.write(name, head, [(spelt.format(number), *row[1:]) for number, row in enumerate(rows)])
    bench.done("train", "padded.csv", *COLUMNS, "--hold-out-by", "id", *TRIAL, "-o", "model.json")
    bench.done("release", "plain.csv", "--model", "model.json", "-m", "accuracy", *TRIAL)
    assert bench.spent() == 2


def test_a_label_only_account_has_one_label(bench: Bench) -> None:
    """Asked for as a feature, the hidden label would be public, and counted without noise."""
    bench.patients()
    labels = ("--neighbours", "label-only", *TRIAL)
    bench.done("train", "patients.csv", "-l", "died", "-c", "smoker", "-c", "age=50", *labels, "-o", "model.json")
    before = bench.files()
    as_feature = ("patients.csv", "-l", "smoker", "-c", "died", *labels)
    as_score = ("patients.csv", "-l", "smoker", "-s", "died", "-e", "1", *labels)
    for verb, asked in (("select", as_feature), ("train", as_feature), ("release", as_score)):
        refused = bench.run(verb, *asked)
        assert refused.code == 2
        assert "hides the labels in 'died'" in refused.err
    assert bench.files() == before
    bench.done("release", "patients.csv", "--model", "model.json", "-m", "accuracy", *TRIAL)
    another = ("--neighbours", "label-only", "--account", "another", "--also-charge")
    with pytest.raises(ParameterError, match="treats as public what the other hides"):
        bench.open_for("train", "patients.csv", "-l", "smoker", "-c", "died", *another)


@pytest.mark.parametrize("verb", ["select", "train"])
def test_the_account_must_be_there_and_be_the_one_that_knows_the_file(bench: Bench, verb: str) -> None:
    bench.patients()
    asked = (verb, "patients.csv", *COLUMNS, "-o", "out.json")

    def refused(*more: object) -> str:
        before = bench.files()
        bench.hear(FORBIDDEN)
        answer = bench.run(*asked, *more)
        bench.desk.hear_the_system_again()
        assert (answer.code, answer.out) == (2, ""), answer.err
        assert bench.files() == before
        return answer.err

    for more in ((), TRIAL, ("--dry-run",), (*TRIAL, "--dry-run")):
        assert "there is no ledger" in refused(*more)
    bench.desk.open_account("trial", neighbours="add-remove-one")
    for dry in ((), ("--dry-run",)):
        assert "Did you mean 'trial'?" in refused("--account", "trail", *dry)
        assert "none that knows these data. The ledger's accounts are trial" in refused(*dry)
    bench.done(*asked, *TRIAL)
    bench.desk.open_account("second", neighbours="add-remove-one")
    assert "knows these data under account 'trial'" in refused("--account", "second")
    spent = bench.spent()
    bench.done(*asked, "--account", "second", "--also-charge")
    assert (bench.spent("trial"), bench.spent("second")) == (spent, spent)
    assert "known under accounts second, trial" in refused("-e", "0.1")


def test_a_copy_is_the_same_data(bench: Bench) -> None:
    file = bench.patients()
    (bench.folder / "copy.csv").write_bytes(file.read_bytes())
    bench.done("train", "patients.csv", *COLUMNS, *TRIAL, "-o", "model.json")
    written = (bench.folder / "model.json").read_bytes()
    bench.hear(FORBIDDEN)
    again = bench.document("train", "copy.csv", *COLUMNS, "-o", "model.json")
    assert again["ledger"]["reused"]
    assert (bench.folder / "model.json").read_bytes() == written


def test_another_way_to_read_the_rows_is_another_question(bench: Bench) -> None:
    """Two columns that hold the same have the same counts; that must not show."""
    rows = [(number, died, died) for number, (_, _, _, _, died) in enumerate(made_patients())]
    bench.write("twins.csv", ("id", "died", "dead"), rows)
    for spent, (label, rule) in enumerate((("died", "id=50"), ("dead", "id=50"), ("died", "id=51")), start=1):
        bench.done("train", "twins.csv", "-l", label, "-c", rule, "--hold-out", "0", "-e", "1", *TRIAL)
        assert bench.spent() == spent


def test_counts_of_public_features_are_not_called_noisy(bench: Bench) -> None:
    bench.patients()
    select = ("select", "patients.csv", "-l", "died", "-c", "smoker", "-c", "age=50", "-k", "2")
    labels = bench.done(*select, "--neighbours", "label-only", "--account", "labels").out
    rows = bench.done(*select, "--account", "rows", "--ledger", "rows.sqlite").out
    assert "noisy total-count" in rows
    assert "total-count" in labels
    assert "noisy" not in labels
