"""What the private workflow reads: standard input, labels in words, and public lists of words."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator

import pytest

from confide.sources.words import place_of
from tests.cli.desk import Desk
from tests.cli.workflow_bench import COLUMNS, TEXT, TRIAL, Bench, bench_at


@pytest.fixture
def bench(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    yield from bench_at(desk, monkeypatch)


class TestWhatItReads:
    def test_standard_input_is_the_same_data_and_the_same_account(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = bench.messages()
        first = bench.document("train", file.name, *TEXT, *TRIAL, "-o", "model.json")
        for verb in (("train", "-", *TEXT, "-o", "again.json"), ("release", "-", "--model", "model.json")):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
            found = bench.document(*verb)["ledger"]
            assert found["account"] == first["ledger"]["account"] == "trial"
        assert (bench.folder / "again.json").read_bytes() == (bench.folder / "model.json").read_bytes()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
        bench.done("predict", "model.json", "-", "-o", "scored.csv")
        assert len((bench.folder / "scored.csv").read_text().splitlines()) == 241

    def test_labels_in_words(self, bench: Bench) -> None:
        bench.messages(rows=[(key, text, "Yes" if spam else "No") for key, text, spam in _rows(bench)])
        model = bench.document("train", "messages.csv", *TEXT, "--positive", "Yes", *TRIAL, "-o", "model.json")
        assert model["positive"] == "Yes"
        found = bench.document("release", "messages.csv", "--model", "model.json", *TRIAL)
        assert found["data"]["positive"] == "Yes"

    def test_a_vocabulary_and_words_to_leave_out(self, bench: Bench) -> None:
        bench.messages()
        (bench.folder / "words.txt").write_text("cash\nlunch\nprize\n")
        words = bench.document(
            "train", "messages.csv", "-l", "spam", "--text", "message", "--vocabulary", "words.txt", *TRIAL
        )
        assert words["names"] == ["cash", "lunch", "prize"]
        left = bench.document("train", "messages.csv", *TEXT, "--leave-out", "words.txt", *TRIAL)
        assert left["encoding"]["rules"][0]["leave_out"] == ["cash", "lunch", "prize"]


class TestADictionary:
    def test_public_words_name_the_places_of_hashed_words(self, bench: Bench) -> None:
        bench.messages()
        (bench.folder / "words.txt").write_text("cash\nlunch\nPrize\n")
        asked, named = ("messages.csv", *TEXT, *TRIAL), ("--dictionary", "words.txt")
        trained = bench.done("train", *asked, *named, "--out", "with.json", "--report", "with.html")
        plain = bench.done("train", *asked, "--out", "without.json", "--report", "without.html")
        pages = [(bench.folder / name).read_text() for name in ("with.html", "without.html")]
        for word in ("cash", "lunch", "prize"):
            name = f"{word} (#{place_of(word, 6)})"
            for shown, hidden in ((trained.out, plain.out), pages):
                assert name in shown
                assert word not in hidden
        assert "named by words of a public list; others may share a position" in pages[0]
        assert "a public --dictionary names them" in pages[1]
        assert (bench.folder / "with.json").read_text() == (bench.folder / "without.json").read_text()

    def test_selected_features_are_named_too(self, bench: Bench) -> None:
        bench.messages()
        (bench.folder / "words.txt").write_text("cash\n")
        selected = bench.done("select", "messages.csv", *TEXT, "-k", "64", *TRIAL, "--dictionary", "words.txt")
        assert f"cash (#{place_of('cash', 6)})" in selected.out

    def test_what_names_nothing_is_refused_before_rows_are_read(self, bench: Bench) -> None:
        (bench.folder / "words.txt").write_text("cash\n")
        for arguments, message in (
            (("nowhere.csv", *COLUMNS, "--dictionary", "words.txt"), "--dictionary names the places of hashed words"),
            (("nowhere.csv", *TEXT, "--dictionary", "none.txt"), "none.txt cannot be read"),
        ):
            answer = bench.run("train", *arguments, *TRIAL)
            assert (answer.code, answer.out) == (2, "")
            assert message in answer.err


def _rows(bench: Bench) -> list[list[str]]:
    with bench.messages().open(newline="") as file:
        return [[key, text, "" if spam == "0" else spam] for key, text, spam in list(csv.reader(file))[1:]]
