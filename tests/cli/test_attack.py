"""`confide attack`: a file, labelings without data, a contest without data; words, JSON, a page, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.commands import confide, confide_process

COLUMNS = ("--label", "died", "--score", "risk")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Forty rows with marks that nothing else could bring about."""
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 3 == 0
    scores = np.clip(0.3 + 0.2 * labels + 0.15 * rng.normal(size=40), 0.01, 0.99).round(9)
    lines = [f"{'Quixote' if label else 'Sancho'},{score}" for label, score in zip(labels, scores, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["died,risk", *lines]) + "\n", encoding="utf-8")
    return tmp_path


def ask(folder: Path, *options: object) -> dict[str, Any]:
    answer = confide("attack", "rows.csv", *COLUMNS, "--positive", "Quixote", "--json", *options, folder=folder)
    assert answer.code == 0, answer.err
    found: dict[str, Any] = json.loads(answer.out)
    return found


class TestLabelings:
    def test_whitehills_example(self) -> None:
        answer = confide("attack", "labelings", "--rows", 106, "--auc", "1387/1440", "--json")
        assert json.loads(answer.out) == {
            "schema": "confide.attack/1",
            "rows": 106,
            "auc": "1387/1440",
            "positives": [16, 90],
            "count": 468686,
        }

    def test_in_words_with_queries(self) -> None:
        out = confide("attack", "labelings", "--rows", 11, "--auc", "17/24", "--positives", 8, "--queries").out
        assert "8 of 165 labelings have an AUC of 17/24" in out  # 165 ways to choose 8 of 11
        assert "positives: 8" in out
        assert "at most 9" in out

    def test_every_labeling_on_a_line(self) -> None:
        answer = confide("attack", "labelings", "--rows", 3, "--auc", "0.5", "--list")
        assert set(answer.out.split()) == {"010", "101"}
        assert confide("attack", "labelings", "--rows", 4, "--auc", "3/4", "--list").out == "0101\n"

    def test_digits_and_cut_digits_and_ties(self) -> None:
        def count(*options: object) -> int:
            plain = json.loads(confide("attack", "labelings", "--json", *options).out)
            return int(plain["count"])

        rounded = count("--rows", 30, "--auc", "0.90")
        assert rounded != count("--rows", 30, "--auc", "0.90", "--cut")
        assert count("--rows", 30, "--auc", "9/10") < rounded
        assert count("--rows", 30, "--auc", "0.90", "--positives", 12) < rounded
        tied = ",".join(["2"] * 15)
        assert confide("attack", "labelings", "--rows", 7, "--auc", "0.8437").out.count("check both") == 1
        assert 0 < count("--rows", 30, "--auc", "0.90", "--ties", tied) != rounded

    def test_possible_triples(self) -> None:
        """Whitehill's 18 are those of five digits that were cut off."""
        cut = confide("attack", "labelings", "--rows", 172, "--auc", "0.90277", "--cut").out
        assert "misplaced pairs): 18" in cut
        assert "misplaced pairs): 8" in confide("attack", "labelings", "--rows", 172, "--auc", "0.90278").out

    def test_numbers_beyond_floats(self) -> None:
        answer = confide("attack", "labelings", "--rows", 1_100, "--auc", "0.99")
        assert "about 10^" in answer.out
        assert "numbers)" in answer.out

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--rows", 1, "--auc", "1/2"), "rows must lie between 2"),
            (("--rows", 9, "--auc", "2"), "auc must lie between 0 and 1"),
            (("--rows", 9, "--auc", "high"), "auc must be a finite number"),
            (("--rows", 9, "--auc", "1/2", "--positives", 9), "positives must lie between"),
            (("--rows", 9, "--auc", "1/2", "--ties", "4,4"), "ties must add up to --rows"),
            (("--rows", 9, "--auc", "1/2", "--ties", "4,x"), "whole numbers with commas"),
            (("--rows", 9, "--auc", "1/2", "--list", "--json"), "leave --json and --queries out"),
            (("--rows", 200, "--auc", "0.8", "--queries"), "--queries goes through every labeling"),
            (("--rows", 9, "--auc", "1/2", "--cut"), "--cut is for decimals"),
        ],
    )
    def test_refusals(self, options: tuple[object, ...], message: str) -> None:
        answer = confide("attack", "labelings", *options)
        assert answer.code == 2
        assert message in answer.err
        assert not answer.out


class TestContest:
    def test_an_oracle_of_auc_gives_all_labels(self) -> None:
        answer = confide("attack", "contest", "--rows", 60, "--queries", 60, "--seed", 1, "--json")
        plain = json.loads(answer.out)
        assert plain["schema"] == "confide.attack/1"
        assert plain["labels"]["right"] == plain["labels"]["certain"] == 60
        assert plain["labels"]["queries"] < plain["two_per_label"] == 120
        assert plain["leaderboard"]["boosted"] > 0.6

    def test_noise_keeps_them(self) -> None:
        options = ("--rows", 60, "--queries", 20, "--oracle", "auc:epsilon=0.05", "--seed", 1)
        answer = confide("attack", "contest", *options)
        assert "0 of them certain" in answer.out
        assert "an attacker who was 50 % sure of one label is at most 73.2 % sure" in answer.out

    def test_a_ladder(self) -> None:
        options = ("--rows", 200, "--queries", 40, "--oracle", "accuracy", "--ladder", "0.05", "--seed", 1)
        answer = confide("attack", "contest", *options)
        assert "behind a Ladder with steps of 0.05" in answer.out
        again = confide("attack", "contest", *options)
        assert again.out == answer.out

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (("--rows", 1, "--queries", 5), "rows must lie between 2"),
            (("--rows", 9, "--queries", 0), "queries must be at least 1"),
            (("--rows", 9, "--queries", 5, "--positives", 9), "positives must lie between"),
            (("--rows", 9, "--queries", 5, "--oracle", "roc"), "an oracle answers with one number"),
            (("--rows", 9, "--queries", 5, "--oracle", "auc:digits=3", "--ladder", "0.1"), "a Ladder rounds by itself"),
            (("--rows", 9, "--queries", 5, "--oracle", "auc:exact", "--ladder", "2"), "step must lie between 0 and 1"),
            (("--rows", 9, "--queries", 5, "--oracle", "auc:epsilon=1,times=2"), "every submission is answered once"),
        ],
    )
    def test_refusals(self, options: tuple[object, ...], message: str) -> None:
        answer = confide("attack", "contest", *options)
        assert answer.code == 2
        assert message in answer.err


class TestFile:
    def test_words_for_each_publication(self, folder: Path) -> None:
        releases = ("-r", "auc:exact", "-r", "roc", "-r", "accuracy:digits=2", "-r", "auc:epsilon=1", "--trials", 10)
        answer = confide("attack", "rows.csv", *COLUMNS, "--positive", "Quixote", *releases, folder=folder)
        assert answer.code == 0
        shown = " ".join(answer.out.split())
        for words in (
            "Do not publish them",
            "Exact AUC reveals labels: an insider, who knows all else, can tell 40 of 40 labels.",
            "To an outsider, who knows the scores and how many are positive, every label is certain.",
            "averaged over the exact values that round to the same number",
            "AUC, released with epsilon 1 is bounded by its epsilon",
            "nobody can do better than 73.2 %",
            "releases whose epsilons sum to at most 1.09 (replace-one or label-only",
            "guessed correctly",
        ):
            assert words in shown, words

    @pytest.mark.long
    @pytest.mark.processes
    def test_the_long_form_and_standard_input(self, folder: Path) -> None:
        given = (folder / "rows.csv").read_bytes()
        options = (*COLUMNS, "--positive", "Quixote", "-r", "auc:digits=2", "--json")
        piped = confide_process("attack", "file", "-", *options, given=given)
        assert piped.code == 0, piped.err
        assert json.loads(piped.out) == ask(folder, "-r", "auc:digits=2")

    def test_a_seed_repeats_what_is_drawn(self, folder: Path) -> None:
        drawn = [ask(folder, "-r", "auc:digits=2", "-r", "auc:digits=2", "--seed", 3) for _ in range(2)]
        assert drawn[0] == drawn[1]
        assert len(drawn[0]["releases"]) == 1

    def test_options_may_come_first(self, folder: Path) -> None:
        answer = confide("attack", *COLUMNS, "--positive", "Quixote", "rows.csv", "-r", "auc", "--json", folder=folder)
        assert answer.code == 0, answer.err

    def test_json_says_who_learns_what(self, folder: Path) -> None:
        found = ask(folder, "-r", "auc:digits=2", "-r", "auc:epsilon=2", "--trials", 7, "--level", 0.8, "--sure", 0.6)
        assert found["rows"] == 40
        assert found["level"] == 0.8
        first, second = found["releases"]
        assert first["outsider"]["log10_labelings"] > 5
        assert first["insider"]["tried"] == 40
        assert second["insider"]["game"]["trials"] == 7
        assert second["insider"]["game"]["bound"] == pytest.approx(0.880797)
        assert found["advice"]["epsilon"] == pytest.approx(np.log(1.5))

    def test_the_page_opens_offline_and_says_that_it_is_internal(self, folder: Path) -> None:
        options = ("-r", "auc:digits=3", "-r", "roc", "-r", "roc:epsilon=1", "--trials", 5, "--report", "out.html")
        answer = confide("attack", "rows.csv", *COLUMNS, "--positive", "Quixote", *options, folder=folder)
        assert answer.code == 0, answer.err
        page = (folder / "out.html").read_text(encoding="utf-8")
        for words in ("Do not publish", "Content-Security-Policy", "What an outsider believes", "at most, from 50 %"):
            assert words in page, words
        assert "<script" not in page
        assert "Quixote" not in page

    @pytest.mark.parametrize(
        ("options", "code", "message"),
        [
            ((*COLUMNS, "-r", "auc:nearly"), 2, "does not say how a number is published"),
            (("--label", "died", "--score", "died"), 2, "cannot be both label and score"),
            (("--label", "died", "--score", "rsk"), 2, "Did you mean 'risk'"),
            ((*COLUMNS, "--report", "rows.csv"), 2, "must end in .html"),
            ((*COLUMNS, "--level", "2", "-r", "auc", "--positive", "Quixote"), 2, "level must lie between"),
            ((*COLUMNS, "-r", "auc"), 1, "--positive"),
        ],
    )
    def test_refusals(self, folder: Path, options: tuple[object, ...], code: int, message: str) -> None:
        answer = confide("attack", "rows.csv", *options, folder=folder)
        assert (answer.code, message in answer.err) == (code, True), answer.err
        assert "Quixote" not in answer.err
        assert not answer.out

    def test_a_file_that_is_not_there(self, folder: Path) -> None:
        answer = confide("attack", "row.csv", *COLUMNS, folder=folder)
        assert answer.code != 0
        assert "row.csv" in answer.err

    def test_a_mistyped_attack(self, folder: Path) -> None:
        answer = confide("attack", "contst", "--rows", 500, "--queries", 5, folder=folder)
        assert answer.code == 2
        assert "Did you mean 'contest'?" in answer.err

    def test_nothing_alone_shows_the_help(self) -> None:
        answer = confide("attack")
        assert "labelings" in answer.out + answer.err
        assert "contest" in answer.out + answer.err


class TestEvaluationReport:
    def test_a_small_evaluation_says_what_it_gives_away(self, folder: Path) -> None:
        answer = confide("evaluate", "rows.csv", *COLUMNS, "--positive", "Quixote", "--report", "e.html", folder=folder)
        assert answer.code == 0, answer.err
        page = (folder / "e.html").read_text(encoding="utf-8")
        assert "What publishing these numbers would reveal" in page
        assert "every label is certain" in page
        assert "confide attack FILE" in page

    @pytest.mark.long
    def test_a_large_one_says_where_to_look(self, tmp_path: Path) -> None:
        rows = [f"{i % 2},{i / 3000}" for i in range(1_500)]
        (tmp_path / "many.csv").write_text("\n".join(["died,risk", *rows]) + "\n", encoding="utf-8")
        answer = confide("evaluate", "many.csv", *COLUMNS, "--report", "e.html", folder=tmp_path)
        assert answer.code == 0, answer.err
        page = (tmp_path / "e.html").read_text(encoding="utf-8")
        assert "What publishing these numbers would reveal" in page
        assert "labelings left" not in page
        assert "confide attack FILE" in page
