"""The private workflow as a user types it: select, train, release the evaluation, predict."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from confide.learning.workflow import Workflow
from confide.sources.encoding import read_features
from tests.cli.commands import Answer
from tests.cli.desk import Desk, open_account
from tests.cli.test_lightness import loaded_by, run_cli
from tests.cli.workflow_bench import COLUMNS, TEXT, TRIAL, Bench, bench_at
from tests.noises import FORBIDDEN


@pytest.fixture
def bench(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    yield from bench_at(desk, monkeypatch)


class TestTheWholeWorkflow:
    @pytest.mark.few(1)
    @pytest.mark.parametrize(("kind", "how"), [("messages", TEXT), ("patients", COLUMNS)])
    def test_it_costs_what_the_dearer_side_costs_and_once(self, bench: Bench, kind: str, how: tuple[str, ...]) -> None:
        file = getattr(bench, kind)().name
        commands: list[tuple[object, ...]] = [
            ("select", file, *how, "-k", 4, *TRIAL, "-o", "features.json"),
            ("train", file, "--features", "features.json", *TRIAL, "-o", "model.json"),
            ("release", file, "--model", "model.json", "-m", "auc,accuracy", *TRIAL),
        ]
        selected, trained, evaluated = (bench.document(*command) for command in commands)

        assert selected["schema"] == trained["schema"] == "confide.workflow/1"
        assert len(selected["selection"]["features"]) == len(selected["names"]) == trained["model"]["width"] == 4
        assert selected["selection"]["guarantee"]["epsilon"] == trained["model"]["guarantee"]["epsilon"] == 0.5
        assert selected["model"] is None
        whole = {
            "budget": 1.0, "steps": {"select": 0.5, "train": 0.5, "evaluate": 1.0}, "parallel": True, "together": 1.0,
        }  # fmt: skip
        assert selected["costs"] == trained["costs"] == whole
        assert evaluated["guarantee"]["epsilon"] == 1.0
        assert evaluated["guarantee"]["neighbours"] == "add-remove-one"
        assert (evaluated["data"]["model"], evaluated["data"]["held_out"]) == ("naive-bayes", 0.3)
        assert [answer["ledger"]["spent"] for answer in (selected, trained)] == [
            {"epsilon": 0.5, "delta": 0.0},
            {"epsilon": 1.0, "delta": 0.0},
        ]
        assert [evaluated["ledger"][name]["epsilon"] for name in ("charged", "spent")] == [0.0, 1.0]
        assert bench.spent() == 1
        assert bench.charges() == [Fraction(1, 2)] * 4

        written = {name: content for name, content in bench.files().items() if name.endswith(".json")}
        bench.hear(FORBIDDEN)
        for command, first in zip(commands, (selected, trained, evaluated), strict=True):
            again = bench.document(*command)
            assert again.pop("ledger")["reused"]
            first.pop("ledger")
            assert again == first
        assert bench.files().items() >= written.items()
        assert bench.spent() == 1

    def test_the_tables_name_steps_rows_and_what_they_cost_together(self, bench: Bench) -> None:
        bench.messages()
        shown = bench.done("select", "messages.csv", *TEXT, *TRIAL, "-k", 25, "-o", "features.json").out
        words = " ".join(shown.split())
        for expected in (
            "Selected", "25 of 64 features.", "noisy total-count", "And 5 more; --out writes all of them.",
            "select training 0.5", "train (planned) training 0.5", "evaluate (planned) held-out 1",
            "Together epsilon 1: held-out rows",
            "epsilon = 0.5, neighbours: add-remove-one", "Account trial: paid epsilon 0.5; spent epsilon 0.5, left",
        ):  # fmt: skip
            assert expected in words, expected
        words = " ".join(bench.done("train", "messages.csv", "--features", "features.json", *TRIAL).out.split())
        for expected in ("naive-bayes", "feature log-odds", "of 25 features", "spent epsilon 1, left epsilon 9"):
            assert expected in words, expected

    def test_without_a_selection_training_gets_all(self, bench: Bench) -> None:
        bench.patients()
        trained = bench.document("train", "patients.csv", *COLUMNS, *TRIAL, "--budget", "0.6", "-o", "model.json")
        assert trained["costs"]["steps"] == {"train": 0.6, "evaluate": 0.6}
        assert trained["costs"]["together"] == 0.6
        assert (
            bench.document("release", "patients.csv", "--model", "model.json", *TRIAL)["ledger"]["spent"]["epsilon"]
            == 0.6
        )

    def test_where_nothing_is_held_out_all_steps_add_up_to_the_budget(self, bench: Bench) -> None:
        bench.patients()
        none = ("--hold-out", "0", "--neighbours", "replace-one")
        selected = bench.document("select", "patients.csv", *COLUMNS, *none, "-k", 4, *TRIAL, "-o", "features.json")
        assert selected["costs"] == {
            "budget": 1.0, "steps": {"select": 0.4, "train": 0.4, "evaluate": 0.2}, "parallel": False, "together": 1.0,
        }  # fmt: skip
        train = ("train", "patients.csv", "--features", "features.json", *TRIAL, "-o", "model.json")
        shown = " ".join(bench.done(*train).out.split())
        assert "evaluate (planned) all 0.2" in shown
        assert "Together epsilon 1: all steps add up." in shown
        evaluated = bench.document("release", "patients.csv", "--model", "model.json", *TRIAL)
        assert evaluated["guarantee"]["neighbours"] == "replace-one"
        assert evaluated["data"]["held_out"] is None
        assert evaluated["ledger"]["spent"]["epsilon"] == 1.0
        assert bench.charges() == [Fraction(2, 5), Fraction(2, 5), Fraction(1, 5)]

    def test_an_epsilon_of_its_own_leaves_the_rest_to_the_next_step(self, bench: Bench) -> None:
        bench.patients()
        asked = ("select", "patients.csv", *COLUMNS, "-k", 4, *TRIAL, "-e", "1/5", "-o", "features.json")
        assert bench.document(*asked)["costs"]["steps"] == {"select": 0.2, "train": 0.8, "evaluate": 1.0}
        train = ("train", "patients.csv", "--features", "features.json", *TRIAL)
        assert bench.document(*train, "--dry-run")["workflow"]["steps"]["train"] == 0.8
        own = bench.document(*train, "-e", "1/4", "-o", "model.json")
        assert own["costs"]["steps"] == {"select": 0.2, "train": 0.25, "evaluate": 0.45}
        assert bench.spent() == Fraction(9, 20)
        bench.done("release", "patients.csv", "--model", "model.json", *TRIAL, "-e", "2")
        assert bench.spent() == 2

    def test_labels_alone(self, bench: Bench) -> None:
        bench.messages()
        only = ("--neighbours", "label-only")
        bench.done("select", "messages.csv", *TEXT, *only, "-k", 6, *TRIAL, "-o", "features.json")
        trained = bench.document("train", "messages.csv", "--features", "features.json", *TRIAL, "-o", "model.json")
        assert trained["model"]["guarantee"]["neighbours"] == "label-only"
        assert "features of every row" in trained["model"]["guarantee"]["public"]
        evaluated = bench.document("release", "messages.csv", "--model", "model.json", *TRIAL)
        assert evaluated["guarantee"]["neighbours"] == "label-only"
        assert bench.spent() == 1

    def test_a_strong_signal_comes_through(self, bench: Bench) -> None:
        """At epsilon 1000 noise is next to nothing: false alarms below one in a million."""
        bench.messages()
        bench.done("ledger", "new", "trial", "--epsilon", "9000", "--neighbours", "add-remove-one")
        train = ("train", "messages.csv", *TEXT, "--budget", "1000", *TRIAL)
        for model in ("naive-bayes", "logistic-regression"):
            bench.done(*train, "--model", model, "-o", "model.json")
            evaluated = bench.document("release", "messages.csv", "--model", "model.json", "-m", "auc", *TRIAL)
            assert evaluated["value"] > 0.85

    @pytest.mark.parametrize("method", ["sparse-vector", "peeling", "permute-and-flip", "clusters"])
    def test_every_way_to_select(self, bench: Bench, method: str) -> None:
        bench.messages()
        number = {"sparse-vector": ("--threshold", 20), "clusters": ("--threshold", 20, "--clusters", 3)}
        k = () if method == "clusters" else ("-k", 5)
        asked = ("--method", method, "--score", "difference-count", *number.get(method, ()), *k)
        found = bench.document("select", "messages.csv", *TEXT, *TRIAL, *asked)
        assert found["selection"]["method"] == method
        assert (found["selection"]["scores"] is None) == (method != "clusters")
        assert bench.spent() == Fraction(1, 2)

    def test_usual_numbers_of_features(self, bench: Bench) -> None:
        bench.messages()
        bench.patients()
        select = ("select", "messages.csv", "-l", "spam", "--text", "message", *TRIAL)
        assert len(bench.document(*select)["names"]) == 100
        # of sex=f and sex=m, one
        assert (
            len(bench.document("select", "patients.csv", *COLUMNS, "--account", "other")["names"]) == 6
        )  # of sex=f and sex=m one


class TestPersons:
    PERSONS = ("--unit", "person", "--rows-per-person", "2")

    def test_held_out_by_person_the_sides_do_not_add_up(self, bench: Bench) -> None:
        file = bench.patients()
        trained = bench.document(
            "train", file.name, *COLUMNS, *self.PERSONS, "--hold-out-by", "id", *TRIAL, "-o", "model.json"
        )
        assert trained["costs"]["steps"] == {"train": 1.0, "evaluate": 1.0}
        held = bench.held_out(file, "model.json")
        assert held[0::2] == held[1::2]  # a patient has two rows, one after the other
        assert 0 < sum(held) < len(held)
        assert bench.document("release", file.name, "--model", "model.json", *self.PERSONS, *TRIAL)["ledger"] == {
            "account": "trial", "charged": {"epsilon": 0.0, "delta": 0.0}, "full_price": {"epsilon": 1.0, "delta": 0.0},
            "spent": {"epsilon": 1.0, "delta": 0.0}, "remaining": {"epsilon": 9.0, "delta": 1e-5}, "reused": False,
        }  # fmt: skip

    def test_else_they_do_and_the_budget_is_kept_all_the_same(self, bench: Bench) -> None:
        bench.patients()
        trained = bench.document("train", "patients.csv", *COLUMNS, *self.PERSONS, *TRIAL, "-o", "model.json")
        assert trained["costs"] == {
            "budget": 1.0, "steps": {"train": 0.8, "evaluate": 0.2}, "parallel": False, "together": 1.0,
        }  # fmt: skip
        shown = bench.done("train", "patients.csv", *COLUMNS, *self.PERSONS, *TRIAL).out
        assert "all steps add up, because rows of one person" in " ".join(shown.split())
        bench.done("release", "patients.csv", "--model", "model.json", *TRIAL)
        assert bench.charges() == [Fraction(4, 5), Fraction(1, 5)]
        assert bench.spent() == 1

    def test_every_step_protects_the_same(self, bench: Bench) -> None:
        bench.patients()
        by = ("--hold-out-by", "id")
        bench.done("select", "patients.csv", *COLUMNS, *self.PERSONS, *by, "-k", 4, *TRIAL, "-o", "features.json")
        trained = bench.document("train", "patients.csv", "--features", "features.json", *TRIAL, "-o", "model.json")
        assert trained["model"]["guarantee"]["unit"] == "person"
        assert "that nobody has more than 2 rows" in trained["model"]["guarantee"]["public"]
        before = bench.files()
        release = ("release", "patients.csv", "--model", "model.json", *TRIAL)
        for unit in (("--unit", "row"), ("--rows-per-person", "1"), ("--unit", "person", "--rows-per-person", "3")):
            refused = bench.run(*release, *unit)
            assert refused.code == 2
            assert "protect each person with at most 2 rows each" in refused.err
        assert bench.files() == before
        evaluated = bench.document(*release)
        assert evaluated["guarantee"]["unit"] == "person"
        assert bench.document(*release, *self.PERSONS)["ledger"]["reused"]
        assert bench.spent() == 1


class TestBeforePaying:
    def test_a_dry_run_writes_nothing_and_names_the_price(self, bench: Bench) -> None:
        bench.patients()
        for verb in ("select", "train"):
            asked = (verb, "patients.csv", *COLUMNS, *TRIAL, "-o", f"{verb}.json")
            bench.open_for(*asked)
            before = bench.files()
            bench.hear(FORBIDDEN)
            quote = bench.document(*asked, "--dry-run")
            shown = " ".join(bench.done(*asked, "--dry-run").out.split())
            assert bench.files() == before
            assert (quote["schema"], quote["fits"]) == ("confide.quote/1", True)
            kind = {"select": "selection", "train": "model"}[verb]
            assert quote["split"] == [{"metrics": [kind], **quote["full_price"]}]
            assert f"{verb} (planned) training {quote['price']['epsilon']:g}" in shown
            bench.desk.hear_the_system_again()
            paid = bench.document(*asked)
            assert paid["ledger"]["charged"] == quote["price"]
            assert paid["ledger"]["remaining"] == quote["remaining_after"]
            assert paid["costs"] == quote["workflow"]
            assert bench.document(*asked, "--dry-run")["answered"]

    def test_what_does_not_fit_is_refused_and_nothing_written(self, bench: Bench) -> None:
        bench.patients()
        bench.done("ledger", "new", "trial", "--epsilon", "0.5", "--neighbours", "add-remove-one")
        asked = ("patients.csv", *COLUMNS, *TRIAL, "-e", "0.75", "--budget", "2")
        before = bench.files()
        bench.hear(FORBIDDEN)
        for verb, more in (("select", ()), ("train", ("--report", "out.html")), ("train", ("--json",))):
            refused = bench.run(verb, *asked, "-o", "out.json", *more)
            assert refused.code == 3
            assert refused.out == ""
            assert "has epsilon 0.5 left, but 0.75 was requested: 0.25 is missing" in refused.err
        for more in ((), ("--json",)):
            quote = bench.run("train", *asked, "--dry-run", *more)
            assert quote.code == 3
            assert ("0.25 is missing" in quote.out) == bool(more)
            assert "0.25 is missing" in quote.err
            assert "It fits" not in quote.out
        assert bench.files() == before

    def test_without_a_name_the_account_that_knows_the_file_is_charged_and_named(self, bench: Bench) -> None:
        bench.messages()
        select, train = (("select", "messages.csv", *TEXT, "-k", 4), ("train", "messages.csv", *TEXT))
        assert bench.done(*select, *TRIAL).err == ""
        assert bench.done(*train).err == "charged to account trial, the only one that knows these data.\n"
        assert bench.done(*train, *TRIAL).err == ""
        assert bench.spent() == Fraction(3, 2)

    def test_another_relation_than_the_account_s_costs_twice_and_says_so(self, bench: Bench) -> None:
        bench.messages()
        bench.done("ledger", "new", "trial", "--epsilon", "5", "--neighbours", "replace-one")
        answer = bench.done("train", "messages.csv", *TEXT, *TRIAL)
        assert "epsilon 1 counts as 2 in this account" in answer.err
        assert "with add-remove-one neighbours: there epsilon 1 counts as 1" in " ".join(answer.err.split())
        assert bench.spent() == 2

    def test_rows_that_are_alike_are_remarked_on_where_no_text_tells_them_apart(self, bench: Bench) -> None:
        bench.patients()
        bench.messages()
        plain = bench.done("train", "patients.csv", *COLUMNS, "--dry-run", *TRIAL)
        assert "rows that are equal in smoker, age, sex are all held out or all trained on" in plain.err
        for quiet in (
            ("train", "patients.csv", *COLUMNS, "--hold-out-by", "id"),
            ("train", "patients.csv", *COLUMNS, "--hold-out", "0"),
            ("train", "messages.csv", *TEXT),
        ):
            assert bench.done(*quiet, "--dry-run", *TRIAL).err == ""


class TestPredict:
    def predicted(self, bench: Bench, source: Path, *options: str) -> Answer:
        bench.done("train", "patients.csv", *COLUMNS, *TRIAL, "-o", "model.json")
        return bench.done("predict", "model.json", source, *options)

    def test_rows_keep_their_order_and_get_the_model_s_probabilities(self, bench: Bench) -> None:
        source = bench.patients()
        answer = self.predicted(bench, source, "-o", "scored.csv", "--score", "risk")
        assert "as private as the rows" in answer.err
        assert answer.out == ""
        with (bench.folder / "scored.csv").open(newline="") as file, source.open(newline="") as before:
            scored, rows = list(csv.reader(file)), list(csv.reader(before))
        assert [row[:-1] for row in scored] == rows
        assert scored[0][-1] == "risk"
        scores = np.array([float(row[-1]) for row in scored[1:]])
        assert ((scores >= 0.0) & (scores <= 1.0)).all()
        workflow = Workflow.read(bench.folder / "model.json")
        expected = workflow.scores(workflow.selected(read_features(source, workflow.encoding)))
        assert scores.tolist() == expected.tolist()

    def test_rows_without_labels_and_parquet(self, bench: Bench) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        file = bench.patients()
        with file.open(newline="") as text:
            rows = list(csv.DictReader(text))
        new = bench.folder / "new.parquet"
        table = pa.table({
            "age": [int(row["age"]) for row in rows],
            "smoker": [row["smoker"] == "1" for row in rows],
            "sex": [row["sex"] for row in rows],
        })  # fmt: skip
        pq.write_table(table, new)
        self.predicted(bench, new, "-o", "scored.parquet")
        bench.done("predict", "model.json", "patients.csv", "-o", "scored.csv")
        scored = pq.read_table(bench.folder / "scored.parquet")
        assert scored.column_names == ["age", "smoker", "sex", "score"]
        assert scored.select(["age", "smoker", "sex"]).equals(table)
        with (bench.folder / "scored.csv").open(newline="") as text:
            assert scored["score"].to_pylist() == [float(row["score"]) for row in csv.DictReader(text)]

    def test_what_cannot_be_done(self, bench: Bench) -> None:
        bench.patients()
        bench.done("select", "patients.csv", *COLUMNS, *TRIAL, "-o", "features.json")
        self.predicted(bench, bench.folder / "patients.csv", "-o", "fine.csv")
        before = bench.files()
        for arguments, code, said in (
            (("features.json", "patients.csv", "-o", "out.csv"), 2, "run `confide train`"),
            (("model.json", "patients.csv", "-o", "patients.csv"), 2, "is the file that is read"),
            (("model.json", "patients.csv", "-o", "out.txt"), 2, "the ending must be"),
            (("model.json", "patients.csv", "-o", "nowhere/out.csv"), 2, "does not exist"),
            (("model.json", "patients.csv", "-o", "out.csv", "--score", "Age"), 2, "another name"),
            (("model.json", "nothing.csv", "-o", "out.csv"), 2, "does not exist"),
            (("nothing.json", "patients.csv", "-o", "out.csv"), 2, "there is no file"),
            (("patients.csv", "patients.csv", "-o", "out.csv"), 1, "is not a file of"),
        ):
            refused = bench.run("predict", *arguments)
            assert (refused.code, refused.out) == (code, "")
            assert said in refused.err
        assert bench.files() == before


class TestThePage:
    def test_it_shows_the_model_and_its_budget_and_is_safe_to_open(self, bench: Bench) -> None:
        values = ["<b>a</b>", "$x$", "[red]c"]
        rows = [(value, number % 2) for number, value in enumerate(values * 40)]
        bench.write("odd.csv", ("<i>kind</i>", "<u>died</u>"), rows)
        answer = bench.done(
            "train", "odd.csv", "-l", "<u>died</u>", "-c", f"<i>kind</i>={'|'.join(values)}", "--hold-out", "0",
            "--keep", "0", *TRIAL, "--report", "page.html", "--title", "A <script>",
        )  # fmt: skip
        assert "report: page.html" in answer.err
        for name in values:
            assert f"<i>kind</i>={name}" in answer.out
        page = (bench.folder / "page.html").read_text(encoding="utf-8")
        for expected in (
            "A &lt;script&gt;", "&lt;i&gt;kind&lt;/i&gt;=$x$", "&lt;u&gt;died&lt;/u&gt;", "naive-bayes", "<svg",
            "Together epsilon 1", "epsilon = 0.8", "which features there are",
        ):  # fmt: skip
            assert expected in page, expected
        for markup in ("<b>", "<i>", "<u>", "<script"):
            assert markup not in page

    def test_it_says_how_rows_were_held_out(self, bench: Bench) -> None:
        bench.patients()
        page = ("--report", "page.html", *TRIAL)
        for how, said in (
            ((), "by a public hash of smoker, age, sex, and were not read. Releases about them cost nothing more"),
            (("--hold-out-by", "id", "--hold-out", "0.25"), "0.25 of the rows were held out by a public hash of id,"),
        ):
            bench.done("train", "patients.csv", *COLUMNS, *how, *page)
            assert said in (bench.folder / "page.html").read_text(encoding="utf-8")
        bench.done(
            "train", "patients.csv", *COLUMNS, *TestPersons.PERSONS, "--account", "p", "--also-charge", *page[:2]
        )
        assert "cost nothing more" not in (bench.folder / "page.html").read_text(encoding="utf-8")


def test_training_loads_neither_scikit_learn_nor_pictures(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("died,smoker\n" + "1,1\n0,0\n1,0\n" * 9)
    open_account(tmp_path / "ledger.sqlite", "trial", file=file, neighbours="add-remove-one")
    arguments = ("-l", "died", "-c", "smoker", "--ledger", str(tmp_path / "ledger.sqlite"), "--out", "model.json")
    program = f"import os; os.chdir({str(tmp_path)!r})\n{run_cli('train', str(file), *arguments)}"
    found = loaded_by(program)
    assert json.loads((tmp_path / "model.json").read_text())["model"]["kind"] == "naive-bayes"
    assert not found & {"sklearn", "matplotlib", "numba", "narwhals", "dp_accounting"}
    assert {"duckdb", "opendp", "sqlalchemy"} <= found
