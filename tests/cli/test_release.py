"""`confide release` as a user types it: what it prints, and what it charges."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from confide import Ledger
from tests.cli.desk import LABELS, SCORES, Desk
from tests.noises import FORBIDDEN


class TestWhatItPrints:
    def test_json_has_the_published_schema(self, desk: Desk) -> None:
        found = desk.document("--epsilon", 1, "--account", "trial")
        assert list(found) == [
            "schema", "metric", "value", "intervals", "guarantee", "mechanism", "parts", "options", "noisy", "data",
            "released", "total", "provenance", "ledger",
        ]  # fmt: skip
        assert (found["schema"], found["metric"], found["mechanism"]) == ("confide.release/1", "auc", "local")
        assert 0.0 <= found["value"] <= 1.0
        for name in ("sample", "population"):
            assert set(found["intervals"][name]) == {"lower", "upper", "level", "method"}
            assert found["intervals"][name]["level"] == 0.95
        assert found["guarantee"] == {
            "epsilon": 1.0, "delta": 0.0, "neighbours": "replace-one", "unit": "row", "public": ["number of rows"],
        }  # fmt: skip
        one, nine = {"epsilon": 1.0, "delta": 0.0}, {"epsilon": 9.0, "delta": 1e-5}
        assert found["ledger"] | {"account": "trial", "spent": one, "remaining": nine} == found["ledger"]

    def test_several_metrics_are_listed_with_the_split(self, desk: Desk) -> None:
        asked = ("-m", "auc,recall", "-m", "precision", "--epsilon", "0.3", "--account", "trial")
        found = desk.document(*asked)
        assert found["schema"] == "confide.release/1"
        assert [part["metric"] for part in found["releases"]] == ["auc", "recall", "precision"]
        assert found["guarantee"]["epsilon"] == 0.3
        assert [part["guarantee"]["epsilon"] for part in found["releases"]] == [0.15] * 3
        assert found["ledger"]["spent"]["epsilon"] == 0.3
        table = desk.ask(*asked).out
        assert "recall, precision" in table
        assert table.count("0.15") >= 2

    def test_the_split_adds_up_exactly(self, desk: Desk) -> None:
        desk.document("-m", "auc,brier,prevalence", "-e", "1", "--account", "trial")
        with Ledger(desk.book) as ledger:
            charges = [entry.amount.epsilon for entry in ledger.history("trial") if entry.kind == "charge"]
            assert charges == [Fraction(1, 3)] * 3
            assert ledger.account("trial").spent.epsilon == 1

    def test_data_go_to_stdout_and_talk_to_stderr(self, desk: Desk) -> None:
        quiet = desk.ask("-e", 1, "--account", "trial")
        assert quiet.err == ""
        answer = desk.ask("-e", 1, "--json")
        json.loads(answer.out)
        assert "charged to account trial, the only one that knows these data." in answer.err
        names = ("AUC", "sample, 95 %", "population, 95 %", "epsilon = 1", "Not hidden: number of rows", "trial")
        meanings = ("sample is for the exact value of these rows", "population is for the value among all people")
        for word in (*names, *meanings):
            assert word in " ".join(quiet.out.split()), word

    @pytest.mark.parametrize("metric", ["average_precision", "brier", "prevalence", "confusion", "f1"])
    def test_every_kind_of_metric(self, desk: Desk, metric: str) -> None:
        found = desk.document("-m", metric, "-e", 1, "--account", "trial", "--neighbours", "add-remove-one")
        assert found["ledger"]["spent"]["epsilon"] == 1.0
        assert found["guarantee"]["neighbours"] == "add-remove-one"

    def test_options_reach_the_release(self, desk: Desk) -> None:
        found = desk.document(
            "-m", "average_precision", "-e", "1/2", "--mechanism", "private-counts", "--grid", "uniform:4", "--level",
            "0.9", "--unit", "person", "--neighbours", "label-only", "--account", "trial",
        )  # fmt: skip
        assert found["options"]["grid"] == [0.0, 0.25, 0.5, 0.75, 1.0]
        assert found["intervals"]["sample"]["level"] == 0.9
        assert found["guarantee"]["unit"] == "person"
        assert found["guarantee"]["public"] == [
            "number of rows",
            "scores",
            "grid of scores",
            "that nobody has more than one row",
        ]
        gaussian = desk.document(
            "-m", "recall", "-e", 1, "--mechanism", "gaussian", "--delta", "1e-6", "--account", "b", "-t", 0.3,
            "--ledger", "another.sqlite",
        )  # fmt: skip
        assert gaussian["guarantee"]["delta"] == 1e-6
        assert 0 < gaussian["guarantee"]["rho"] < 1
        assert gaussian["options"] == {"threshold": 0.3}


class TestWhatItCosts:
    def test_the_same_request_costs_once(self, desk: Desk) -> None:
        first = desk.document("-e", "0.1", "--account", "trial")
        desk.hear(FORBIDDEN)
        for epsilon in ("0.1", "1/10", ".10"):
            again = desk.document("-e", epsilon, "--account", "trial")
            assert again["value"] == first["value"]
            assert again["intervals"] == first["intervals"]
            assert again["ledger"]["spent"]["epsilon"] == 0.1
            assert again["ledger"]["reused"]
            assert again["ledger"]["charged"]["epsilon"] == 0.0

    @pytest.mark.parametrize(
        "other",
        [("-m", "brier"), ("--mechanism", "student-t"), ("-e", "0.2"), ("-m", "recall")],
        ids=" ".join,
    )
    def test_another_request_costs_again(self, desk: Desk, other: tuple[str, ...]) -> None:
        desk.document("-e", "0.1", "--account", "trial")
        again = desk.document("-e", "0.1", "--account", "trial", *other)
        assert again["ledger"]["charged"]["epsilon"] == (0.2 if "-e" in other else 0.1)
        assert not again["ledger"]["reused"]

    def test_another_threshold_or_grid_costs_again(self, desk: Desk) -> None:
        for spent, options in enumerate(
            [
                ("-m", "recall", "-t", "0.4"),
                ("-m", "recall", "-t", "0.5"),
                ("-m", "average_precision", "--mechanism", "private-counts", "--grid", "uniform:4"),
                ("-m", "average_precision", "--mechanism", "private-counts", "--grid", "logit:4"),
            ],
            start=1,
        ):
            assert desk.document("-e", 1, "--account", "trial", *options)["ledger"]["spent"]["epsilon"] == spent

    def test_other_data_in_the_same_account_cost_again(self, desk: Desk) -> None:
        desk.document("-e", 1, "--account", "trial")
        desk.write("other.csv", 1 - LABELS)
        assert desk.document("-e", 1, "--account", "trial", file="other.csv")["ledger"]["spent"]["epsilon"] == 2.0

    @pytest.mark.parametrize("other", [("--score", "age"), ("--positive", "1")], ids=" ".join)
    def test_another_column_or_positive_value_costs_again(self, desk: Desk, other: tuple[str, ...]) -> None:
        """Whatever they hold: here both columns of scores hold the same, and 1 is positive anyhow."""
        rows = [f"{label},{score!r},{score!r}" for label, score in zip(LABELS, map(float, SCORES), strict=True)]
        (desk.folder / "rows.csv").write_text("\n".join(["died,risk,age", *rows]) + "\n", encoding="utf-8")
        desk.document("-e", 1, "--account", "trial")
        columns = ("--label", "died", *(other if "--score" in other else ("--score", "risk", *other)))
        again = desk.document("-e", 1, "--account", "trial", columns=columns)["ledger"]
        assert (again["spent"]["epsilon"], again["reused"]) == (2.0, False)

    def test_add_remove_one_costs_twice_in_an_account_of_replace_one(self, desk: Desk) -> None:
        desk.document("-e", 1, "--account", "trial")
        found = desk.document("-e", 1, "--account", "trial", "--neighbours", "add-remove-one")
        assert found["ledger"]["spent"]["epsilon"] == 3.0
        refused = desk.ask("-e", 1, "--account", "trial", "--neighbours", "label-only")
        assert refused.code == 2
        assert "open another account" in refused.err

    def test_a_dry_run_writes_nothing_and_names_the_price(self, desk: Desk) -> None:
        desk.open_account("trial")
        before = desk.files()
        asked = ("-m", "auc,brier,recall", "-e", "0.7", "--account", "trial", "--report", "out.html")
        desk.hear(FORBIDDEN)
        quote = desk.document(*asked, "--dry-run")
        assert desk.files() == before
        assert quote["schema"] == "confide.quote/1"
        assert quote["fits"]
        assert quote["price"]["epsilon"] == 0.7
        shown = desk.ask(*asked, "--dry-run")
        assert desk.files() == before
        assert "Nothing was charged" in shown.out
        desk.hear_the_system_again()
        paid = desk.document(*asked)["ledger"]
        assert paid["charged"] == quote["price"]
        assert paid["remaining"] == quote["remaining_after"]
        then = desk.files()
        assert desk.document(*asked, "--dry-run")["answered"]
        assert desk.files() == then

    def test_a_refusal_says_what_is_missing_and_what_would_fit(self, desk: Desk) -> None:
        desk.document("-e", 8, "--account", "trial")
        before = desk.files()
        desk.hear(FORBIDDEN)
        for options in ((), ("--json",), ("--report", "out.html")):
            refused = desk.ask("-e", "2.5", "--account", "trial", "-m", "brier", *options)
            assert refused.code == 3
            assert refused.out == ""
            for words in ("has epsilon 2 left", "2.5 was requested", "0.5 is missing", "epsilon 2 would fit"):
                assert words in refused.err, words
        quote = desk.ask("-e", "2.5", "--account", "trial", "-m", "brier", "--dry-run", "--json")
        assert quote.code == 3
        assert json.loads(quote.out)["refusal"] in refused.err
        assert desk.files() == before

    def test_what_would_fit_fits(self, desk: Desk) -> None:
        desk.document("-e", "29/3", "--account", "trial")
        refused = desk.ask("-e", 1, "--account", "trial", "-m", "brier")
        assert refused.code == 3
        assert "epsilon 0.3333 would fit" in refused.err
        left = desk.document("-e", "0.3333", "--account", "trial", "-m", "brier")["ledger"]["remaining"]["epsilon"]
        assert 0.0 < left < 1e-4

    def test_analysts_have_their_own_caps(self, desk: Desk) -> None:
        with Ledger(desk.book) as ledger:
            ledger.open_account("trial", epsilon=5, analyst_epsilon=1)
        assert desk.ask("-e", 1, "--account", "trial").code == 2
        assert desk.document("-e", 1, "--account", "trial", "--analyst", "ana")["ledger"]["remaining"]["epsilon"] == 0.0
        assert desk.ask("-e", 1, "--account", "trial", "--analyst", "ana", "-m", "brier").code == 3
        assert desk.ask("-e", 1, "--account", "trial", "--analyst", "bo", "-m", "brier").code == 0
