"""The server's part of a contest is read back as it was written; anything else is refused."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confide.contest.bundles import (
    Finalist,
    Finalists,
    ServerBundle,
    choose,
    read_archive,
    scores_digest,
    write_archive,
)
from confide.contest.labels import MaskedLabels
from confide.contest.metric import ContestMetric
from confide.contest.server.home import load_scores
from confide.contest.template import Template
from confide.contest.terms import ContestTerms, Mode
from confide.errors import ParameterError, UnreadableError

FLIP = Fraction(1, 5)


def made(mode: Mode = Mode.MASKED, rows: int = 11) -> ServerBundle:
    masked = mode == Mode.MASKED
    public = np.arange(0, rows, 2)
    terms = ContestTerms(
        name="heart",
        title="Heart",
        metric=ContestMetric.checked("auc"),
        mode=mode,
        rows=rows,
        public_rows=public.size,
        epsilon=Fraction(1),
        flip=FLIP if masked else None,
    )
    bits = np.random.default_rng(0).random(public.size) < 0.5
    return ServerBundle(
        terms=terms,
        template=Template.of(terms, tuple(f"p{row:02}" for row in range(rows))),
        public=public,
        masked=MaskedLabels(bits, FLIP) if masked else None,
    )


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("rows", [5, 16, 17, 400])
def test_a_bundle_is_read_as_it_was_written(mode: Mode, rows: int) -> None:
    bundle = made(mode, rows)
    again = ServerBundle.from_bytes(bundle.to_bytes())
    assert (again.terms, again.template) == (bundle.terms, bundle.template)
    assert (again.public == bundle.public).all()
    assert sorted([*again.public, *again.final_rows]) == list(range(rows))
    assert again.to_bytes() == bundle.to_bytes()
    if bundle.masked is None or again.masked is None:
        assert bundle.masked is again.masked
    else:
        assert (again.masked.bits == bundle.masked.bits).all()
        assert again.masked.flip == FLIP


def test_the_size_of_a_bundle_tells_nothing_about_its_bits() -> None:
    bundle = made()
    sizes = {
        len(ServerBundle(**{**parts(bundle), "masked": MaskedLabels(np.full(6, bit), FLIP)}).to_bytes())
        for bit in (False, True)
    }
    assert len(sizes) == 1


def parts(bundle: ServerBundle) -> dict[str, Any]:
    return {name: getattr(bundle, name) for name in ("terms", "template", "public", "masked")}


WRONG: dict[str, dict[str, Any]] = {
    "rows of another number": {"public": np.arange(5)},
    "rows not ascending": {"public": np.array([0, 2, 4, 6, 10, 8])},
    "rows twice": {"public": np.array([0, 2, 4, 6, 8, 8])},
    "rows out of range": {"public": np.array([0, 2, 4, 6, 8, 11])},
    "no masked labels": {"masked": None},
    "another flip": {"masked": MaskedLabels(np.zeros(6, dtype=bool), Fraction(1, 4))},
    "too few masked labels": {"masked": MaskedLabels(np.zeros(5, dtype=bool), FLIP)},
    "another template": {"template": made(rows=12).template},
    "masked labels where answers are charged": {"terms": made(Mode.PER_ANSWER).terms},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG.keys())
def test_parts_that_do_not_fit_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        ServerBundle(**{**parts(made()), **change})


def rewritten(content: bytes, **members: bytes | None) -> bytes:
    """Change members of an archive, whose manifest then does not fit."""
    found = read_archive(content, what="it", most_members=10)
    changed = {**found, **{name.replace("_", "."): data for name, data in members.items()}}
    return write_archive({name: data for name, data in changed.items() if data is not None})


def test_every_changed_byte_is_noticed() -> None:
    content = made().to_bytes()
    whole = ServerBundle.from_bytes(content)
    for place in range(0, len(content), 7):
        changed = bytearray(content)
        changed[place] ^= 1
        try:
            again = ServerBundle.from_bytes(bytes(changed))
        except UnreadableError:
            continue
        assert again.to_bytes() == whole.to_bytes(), "only what the archive itself does not use may change"


def test_members_must_be_those_of_the_manifest() -> None:
    content = made().to_bytes()
    digests = json.loads(read_archive(content, what="it", most_members=10)["manifest.json"])
    forged = json.dumps({**digests, "schema": "another"}).encode()
    for changed in (
        rewritten(content, masked_bits=b"\0"),
        rewritten(content, masked_bits=None),
        rewritten(content, labels_csv=b"id,died"),
        rewritten(content, manifest_json=None),
        rewritten(content, manifest_json=forged),
        rewritten(content, manifest_json=b"[" * 100_000),
        b"",
        b"PK",
        content[:-30],
    ):
        with pytest.raises(UnreadableError, match=r"server\.zip"):
            ServerBundle.from_bytes(changed)


def test_compressed_archives_are_refused_so_that_none_grows() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b"0" * 10_000_000)
    assert len(buffer.getvalue()) < 20_000
    with pytest.raises(UnreadableError, match="not an archive"):
        read_archive(buffer.getvalue(), what="an archive", most_members=10)
    with pytest.raises(UnreadableError):
        read_archive(write_archive({str(number): b"" for number in range(11)}), what="an archive", most_members=10)


def entry(participant: str = "ana", submission: str = "s1", seed: int = 0) -> Finalist:
    return Finalist(participant=participant, submission=submission, scores=np.random.default_rng(seed).random(7))


def test_finalists_are_read_as_they_were_written() -> None:
    chosen = choose([entry("zoë", "s3", 3), entry("ana", "s2", 2), entry("ana", "s1")], contest="heart", template="d")
    assert [one.submission for one in chosen.entries] == ["s1", "s2", "s3"]
    assert list(chosen.by_name()) == ["ana (s1)", "ana (s2)", "zoë"]
    again = Finalists.from_bytes(chosen.to_bytes())
    assert again.to_bytes() == chosen.to_bytes()
    assert (again.contest, again.template) == ("heart", "d")
    assert all((one.scores == two.scores).all() for one, two in zip(again.entries, chosen.entries, strict=True))
    assert again.entries[0].digest == scores_digest(entry().scores)


def test_finalists_are_written_one_after_the_other(tmp_path: Path) -> None:
    """The scores of all together may be larger than the server's memory."""
    rows, paths, target = 100_000, [tmp_path / f"{number}.f8" for number in range(20)], tmp_path / "finalists.zip"
    for number, path in enumerate(paths):
        np.random.default_rng(number).random(rows).tofile(path)
    tracemalloc.start()
    try:
        entries = [
            Finalist(participant=path.stem, submission=path.stem, scores=load_scores(path, rows)) for path in paths
        ]
        chosen = choose(entries, contest="heart", template="d")
        with target.open("wb") as file:
            chosen.write(file)
        assert tracemalloc.get_traced_memory()[1] < 5 * 8 * rows
    finally:
        tracemalloc.stop()
    assert target.read_bytes() == chosen.to_bytes()
    assert Finalists.from_bytes(target.read_bytes()).to_bytes() == chosen.to_bytes()


def test_finalists_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least one"):
        choose([], contest="heart", template="d")
    with pytest.raises(ParameterError, match="twice"):
        choose([entry("ana"), entry("ben")], contest="heart", template="d")
    with pytest.raises(ParameterError, match="finite"):
        Finalist(participant="ana", submission="s", scores=np.array([np.nan]))
    other = Finalist(participant="ben", submission="s2", scores=np.zeros(3))
    with pytest.raises(ParameterError, match="different numbers"):
        choose([entry(), other], contest="heart", template="d")


def test_changed_scores_of_finalists_are_noticed() -> None:
    content = choose([entry()], contest="heart", template="d").to_bytes()
    for changed in (
        rewritten(content, **{"000_f8": np.zeros(7).tobytes()}),
        rewritten(content, **{"000_f8": b"1"}),
        rewritten(content, **{"000_f8": None}),
        rewritten(content, extra_f8=b""),
        rewritten(content, manifest_json=b"{}"),
    ):
        with pytest.raises(UnreadableError, match=r"finalists\.zip"):
            Finalists.from_bytes(changed)
