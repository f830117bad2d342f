"""What `confide release` keeps private, in this process and in real ones, even where they die."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any, ClassVar

import numpy as np
import pytest

from confide import Ledger
from tests.cli.commands import STRICT
from tests.cli.desk import COLUMNS, LABELS, SCORES, Desk
from tests.noises import Deaf


class TestWhatItKeepsPrivate:
    DATA: ClassVar[dict[str, Any]] = {
        "both.csv": LABELS,
        "all.csv": np.ones(83, dtype=int),
        "none.csv": np.zeros(83, dtype=int),
        "one.csv": (np.arange(83) == 7).astype(int),
    }

    @pytest.mark.few(1)
    @pytest.mark.parametrize(
        "options",
        [("-m", "auc,average_precision,brier,prevalence,recall"), ("--dry-run",), ("-m", "confusion", "--json")],
        ids=str,
    )
    def test_with_noise_that_drowns_everything_all_data_look_alike(self, desk: Desk, options: tuple[str, ...]) -> None:
        """Exit code, both streams and the report are the same, byte by byte, whatever the labels are."""
        seen = []
        for name, labels in self.DATA.items():
            desk.write(name, labels)
            desk.hear(Deaf().noise())
            book = ("--ledger", f"{name}.sqlite", "--account", "trial", "--report", "out.html")
            answer = desk.ask("-e", 1, *book, *options, file=name)
            assert answer.code == 0, answer.err
            report = desk.folder / "out.html"
            seen.append((answer, report.read_text(encoding="utf-8") if report.exists() else ""))
            report.unlink(missing_ok=True)
        assert all(other == seen[0] for other in seen)

    @pytest.mark.few(1)
    @pytest.mark.parametrize("metric", ["auc", "average_precision", "brier", "prevalence", "recall"])
    def test_under_add_remove_one_the_number_of_rows_looks_alike_too(self, desk: Desk, metric: str) -> None:
        seen = []
        for rows in (83, 40, 2, 1):
            desk.write("some.csv", LABELS[:rows], SCORES[:rows])
            desk.hear(Deaf().noise())
            book = ("--ledger", f"{rows}.sqlite", "--account", "trial", "--neighbours", "add-remove-one")
            seen.append(desk.ask("-e", 1, "-m", metric, *book, "--json", file="some.csv"))
        assert [answer.code for answer in seen] == [0] * 4
        assert all(other == seen[0] for other in seen)

    def test_labels_in_words_with_one_class_only(self, desk: Desk) -> None:
        for labels in (["Good"] * 83, ["Poor"] * 83, ["Good", "Poor"] * 41 + ["Good"]):
            desk.write("words.csv", labels)
            found = desk.document("-e", 1, "--positive", "Poor", "--account", "words", file="words.csv")
            assert 0.0 <= found["value"] <= 1.0

    def test_a_typo_among_two_labels_is_an_error_for_the_data_holder(self, desk: Desk) -> None:
        desk.write("words.csv", ["Good", "Poor"] * 41 + ["Good"])
        desk.patch.setenv("CONFIDE_SHOW_ERRORS", "1")
        answer = desk.ask("-e", 1, "--positive", "Pooor", "--account", "words", file="words.csv")
        assert answer.code == 2
        assert "check the spelling" in answer.err
        assert "Good" not in answer.err

    def test_nothing_of_the_data_is_anywhere(self, desk: Desk) -> None:
        """Scores and class sizes that nothing else could bring about, looked for in all that was written."""
        scores = np.repeat([0.123456789, 0.314159265, 0.918273645], [1237, 1013, 1009])
        labels = np.concatenate([np.arange(size) % 7 == 0 for size in (1237, 1013, 1009)]).astype(int)
        data = desk.write("marked.csv", labels, scores)
        positives, rows = int(labels.sum()), labels.size
        everything = ""
        for options in (
            ("-e", "0.5", "-m", "auc,brier,recall,prevalence", "--report", "out.html"),
            ("-e", "0.5", "-m", "average_precision", "--json"),
            ("-e", "0.5", "--dry-run"),
            ("-e", "50"),
            ("-e", "1", "--positive", "Quixote"),
        ):
            answer = desk.ask(*options, "--account", "trial", "--neighbours", "add-remove-one", file="marked.csv")
            everything += answer.out + answer.err
        data.unlink()
        everything += "".join(content.decode("latin-1") for content in desk.files().values())
        assert "trial" in everything
        from confide import ScoreCounts, auc_score, brier_score

        counts = ScoreCounts.from_arrays(labels, scores)
        exact = [f"{value:.7f}" for value in (auc_score(counts), brier_score(counts), counts.prevalence)]
        for private in ("0.123456789", "0.314159265", "0.918273645", *exact, str(rows), "marked.csv"):
            # Not as the end of another number: pictures have coordinates with many digits.
            assert not re.search(rf"(?<![\d.]){re.escape(private)}(?=[\s,<.]|$)", everything), private
        assert positives  # noisy sizes may equal it by chance, so it is not looked for


class TestRealProcesses:
    def run(self, *arguments: object, code: str | None = None, **options: Any) -> subprocess.CompletedProcess[bytes]:
        start = ["-c", code] if code else ["-m", "confide"]
        return subprocess.run(
            [sys.executable, *STRICT, *start, *map(str, arguments)],
            capture_output=True, check=False, timeout=600, **options,
        )  # fmt: skip

    @pytest.mark.processes
    def test_standard_input_is_the_same_data_and_the_same_account(self, desk: Desk) -> None:
        desk.open_account("trial")
        found = desk.document("-e", 1, "--account", "trial")
        piped = self.run("release", "-", *COLUMNS, "-e", 1, "--json", input=(desk.folder / "rows.csv").read_bytes())
        assert piped.returncode == 0, piped.stderr
        again = json.loads(piped.stdout)
        assert again["value"] == found["value"]
        assert again["ledger"]["account"] == found["ledger"]["account"] == "trial"
        assert again["ledger"]["reused"]

    @pytest.mark.long
    @pytest.mark.processes
    def test_a_run_that_dies_after_the_charge_keeps_it(self, desk: Desk) -> None:
        script = (
            "import os, sys\n"
            "from confide.ledger.ledger import Ledger\n"
            "from confide.privacy.queries import Noise\n"
            "Ledger.noise = Noise(discrete_laplace=lambda values, scale: os._exit(9))\n"
            "sys.argv = ['confide', *sys.argv[1:]]\n"
            "from confide.cli.main import run\n"
            "run()\n"
        )
        desk.open_account("trial")
        asked = ("release", "rows.csv", *COLUMNS, "-e", "3", "--account", "trial", "--json")
        died = self.run(*asked, code=script, cwd=desk.folder)
        assert died.returncode == 9, died.stderr
        assert died.stdout == b""
        with Ledger(desk.book) as ledger:
            assert ledger.account("trial").spent.epsilon == 3
        # An answer is shown only after it was stored, so what was paid serves the next same request.
        assert desk.document("-e", 3, "--account", "trial")["ledger"]["spent"]["epsilon"] == 3.0

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_folder_without_permission_is_refused_before_the_charge(self, desk: Desk) -> None:
        closed = desk.folder / "closed"
        closed.mkdir(mode=0o500)
        desk.open_account("trial")
        before = desk.book.read_bytes()
        assert desk.ask("-e", 1, "--account", "trial", "--report", closed / "out.html").code == 2
        assert desk.book.read_bytes() == before
