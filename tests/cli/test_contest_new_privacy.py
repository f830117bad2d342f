"""Neighbouring files of labels give the same transcript of a whole contest, and nothing public holds a label."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from confide import Ledger
from confide.contest.bundles import Finalist, ServerBundle, choose
from confide.contest.labels import PURPOSE, Split, ids_digest
from confide.privacy.queries import Noise
from confide.sources.labelled_ids import read_labelled_ids
from tests.cli.commands import Answer, confide
from tests.noises import SILENT, seeded
from tests.tasks.contest_files import IDS, LABELS, NEGATIVE, POSITIVE, write_labels

KEY = "5a" * 32
ACCOUNT = ("--epsilon", "2", "--delta", "1e-6", "--neighbours", "label-only", "--label", "died", "--data", "labels.csv")
FINAL = ("--final-epsilon", "1", "--final-delta", "1e-6")
MAKE = ("contest", "new", "heart", "labels.csv", "-l", "died", "-e", "2", *FINAL)
PUBLISH = ("contest", "publish", "heart/holder", "finalists.zip", "--labels", "labels.csv")


@dataclass(frozen=True)
class World:
    """What everybody can see of a contest: answers of commands, and the files that may leave."""

    answers: tuple[Answer, ...]
    files: dict[str, bytes]
    sizes: dict[str, int]


def drowned(labels: NDArray[np.bool_], file: Path) -> Noise:
    """Return noise that hides everything: masked labels are all negative, and numbers are always the same."""
    rows = read_labelled_ids(file, id_column="id", label="died")
    with Ledger() as book:
        split = Split(share=Fraction(1, 2), key=book.derive_key(PURPOSE, "id", ids_digest(rows.ids)))
    public = rows.labels[split.public(rows.ids)]
    assert labels.sum() == rows.labels.sum()

    def flips(count: int, probability: Fraction) -> NDArray[np.bool_]:
        assert count == public.size
        return public

    def numbers(values: Sequence[int], scale: Fraction) -> list[int]:
        return [1000 * place for place in range(len(values))]

    return replace(SILENT, flips=flips, discrete_gaussian=numbers)


def write_finalists(folder: Path) -> None:
    bundle = ServerBundle.from_bytes((folder / "heart" / "server.zip").read_bytes())
    rng = np.random.default_rng(3)
    entries = [Finalist(participant=f"t{one}", submission=f"s{one}", scores=rng.random(len(IDS))) for one in range(3)]
    content = choose(entries, contest="heart", template=bundle.template.digest).to_bytes()
    (folder / "finalists.zip").write_bytes(content)


def play(folder: Path, labels: NDArray[np.bool_], monkeypatch: pytest.MonkeyPatch) -> World:
    """Run the same commands on some labels."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    monkeypatch.chdir(folder)
    lines = [f"{one},{int(label)}" for one, label in zip(IDS, labels, strict=True)]
    (folder / "labels.csv").write_text("\n".join(["id,died", *lines]) + "\n")
    answers = [confide(*MAKE, "--account", "trial"), confide("ledger", "new", "trial", *ACCOUNT)]
    monkeypatch.setattr(Ledger, "noise", drowned(labels, folder / "labels.csv"))
    answers += [
        confide(*MAKE, "--dry-run"),
        confide(*MAKE, "--dry-run", "--json"),
        confide(*MAKE, "--final-epsilon", "7"),
        confide(*MAKE, "--id", "died"),
        confide(*MAKE, "--public", "0.00001"),
        confide(*MAKE),
        confide(*MAKE, "--json"),
        confide(*MAKE, "--epsilon", "1", "--out", "other"),
    ]
    write_finalists(folder)
    answers += [confide(*PUBLISH, "--dry-run"), confide(*PUBLISH), confide(*PUBLISH, "--json")]
    made = [path for path in sorted((folder / "heart").rglob("*")) if path.is_file()]
    public = {str(path.relative_to(folder)): path.read_bytes() for path in made if path.parent.name != "holder"}
    return World(tuple(answers), public, {str(path.relative_to(folder)): path.stat().st_size for path in made})


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unpadded_ledgers: None) -> None:
    monkeypatch.setenv("CONFIDE_LEDGER_KEY", KEY)
    monkeypatch.setenv("CONFIDE_LEDGER", str(tmp_path / "world" / "ledger.sqlite"))


def flipped(row: int) -> NDArray[np.bool_]:
    labels = LABELS.copy()
    labels[row] = not labels[row]
    return labels


OTHERS = {"one label": flipped(0), "another label": flipped(50), "all labels": ~LABELS}


@pytest.mark.few(1)
@pytest.mark.parametrize("labels", OTHERS.values(), ids=OTHERS.keys())
def test_neighbours_give_the_same_transcript(
    labels: NDArray[np.bool_], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The noise hides the labels here, so everything else must be equal: bytes, sizes, messages, prices, exit codes."""
    folder = tmp_path / "world"
    usual = play(folder, LABELS, monkeypatch)
    codes = [answer.code for answer in usual.answers]
    assert codes == [2, 0, 0, 0, 3, 2, 2, 0, 0, 3, 0, 0, 0], [answer.err for answer in usual.answers]
    assert list(usual.files) == ["heart/final.json", "heart/server.zip", "heart/template.json"]
    assert play(folder, labels, monkeypatch) == usual


def test_no_public_byte_and_no_message_holds_a_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "world"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write_labels(folder / "labels.csv")
    monkeypatch.setattr(Ledger, "noise", seeded(0))
    named = ("--positive", POSITIVE)
    answers = [confide("ledger", "new", "trial", *ACCOUNT, *named), confide(*MAKE, *named)]
    write_finalists(folder)
    answers.append(confide(*PUBLISH))
    assert [answer.code for answer in answers] == [0, 0, 0], [answer.err for answer in answers]
    for answer in answers:
        assert NEGATIVE not in answer.out + answer.err
    assert POSITIVE not in answers[1].out + answers[1].err
    for path in (folder / "heart").rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert NEGATIVE.encode() not in content
            assert path.parent.name == "holder" or POSITIVE.encode() not in content
    bundle = ServerBundle.from_bytes((folder / "heart" / "server.zip").read_bytes())
    truth = dict(zip(IDS, LABELS, strict=True))
    sorted_labels = np.array([truth[one] for one in bundle.template.ids])
    content = (folder / "heart" / "server.zip").read_bytes()
    for bits in (sorted_labels, sorted_labels[bundle.public], sorted_labels[bundle.final_rows], LABELS):
        for order in ("big", "little"):
            assert np.packbits(bits, bitorder=order).tobytes() not in content
        assert bits.tobytes() not in content


def test_masked_labels_differ_from_the_labels_as_often_as_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's own noise: 40,000 rows, five standard errors, a false alarm in about one of a million runs."""
    folder = tmp_path / "world"
    folder.mkdir()
    monkeypatch.chdir(folder)
    rows = 40_000
    labels = np.random.default_rng(0).random(rows) < 0.3
    lines = [f"p{row:05d},{int(label)}" for row, label in enumerate(labels)]
    (folder / "labels.csv").write_text("\n".join(["id,died", *lines]) + "\n")
    assert confide("ledger", "new", "trial", *ACCOUNT).code == 0
    made = confide("contest", "new", "heart", "labels.csv", "-l", "died", "-e", "2")
    assert made.code == 0, made.err
    bundle = ServerBundle.from_bytes((folder / "heart" / "server.zip").read_bytes())
    assert bundle.masked is not None
    flip = float(bundle.masked.flip)
    assert flip == pytest.approx(1 / (1 + np.exp(2)), rel=1e-12)
    different = (bundle.masked.bits != labels).mean()
    assert abs(different - flip) < 5 * np.sqrt(flip * (1 - flip) / rows)


def test_what_the_command_promises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "world").mkdir()
    monkeypatch.chdir(tmp_path / "world")
    write_labels(tmp_path / "world" / "labels.csv")
    monkeypatch.setattr(Ledger, "noise", seeded(0))
    named = ("--positive", POSITIVE)
    assert confide("ledger", "new", "trial", *ACCOUNT, *named).code == 0
    said = " ".join(confide(*MAKE, *named).out.split())
    for words in (
        "epsilon 2",
        "88.1 % sure",
        "every answer to every participant together, whatever they ask",
        "a break-in into the server",
        "may leave: for the server",
        "stays with you",
        "confide serve heart/server.zip --home DIR",
        "confide contest check heart/template.json",
        "The final will cost epsilon 1",
        "73.2 %",
    ):
        assert words in said
