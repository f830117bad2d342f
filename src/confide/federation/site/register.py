"""Register of a site: which terms its answers used, and over which lists of sites sums may be read.

If sites may drop out, the list of those that are left is known only after the answers. Before a site votes for a list
or shows a share for it, the list is stored here, with the keys that its sites made for themselves. From then on the
site helps to read no sum over another list, in no session and after no restart: the difference of two sums would be
some sites' own answers. A sum is known by the terms that it depends on; without noise also by the source of the
model's scores, under whatever name.

As `threshold` sites must agree, and any two sets of so many have an honest site in common, a site is protected by
what others remember even if it died before it stored the list itself. That holds as long as the others do remember. A
site that was set up anew does not, but has made another key for itself. So before a site answers, it stores the own
keys of all whom it answers with, and answers no more where one of them has another key.

**Without noise** a site answers one question about a model. Sums over two different lists of sites differ by some
sites' counts; tables on two grids, or with two sizes of groups, differ by counts of small cells; tables of data before
and after a change differ by those who came or went. So the first question that is answered fixes the mode, the grid,
the bins, the size of groups, the data and, where only sums are seen, the sites. The same question may be asked again.
A model is identified by its name and by its *source*, the file and the column of scores in the site's settings: the
same source under another name has the same entry. Nothing that was read from the data is compared between models.
Exact answers about several models of the same rows can be subtracted, too: two sums over different sites reveal the
number of rows of each class at a site and, where the models differ for few rows only, these rows. An administrator who
sets up a model accepts that.

**In private mode** a site draws its share of the noise once for each question, even if its data change. The shares of
all sites protect the sum. If a site drew a new share after its data changed, while the others sent stored shares, the
difference of the two sums would be its counts with its own noise alone. So the site refuses. If anything differs that
the sum depends on, all sites draw fresh shares and pay for them.

**Lists of sites.** Where only sums are seen, a signed question may allow fewer of its sites to take part. The server
chooses them once: before a site pays or sends anything, the register stores with which sites it answers the question.
It never answers the question with others. If sites may drop out, the list of those that are left is stored too, when
it is known (`settled`).

Data are identified by a keyed hash of their files as they are stored, never by counts: a refusal that depended on
counts would tell of single rows. Without the key of the site's records nobody can test guesses against the hash. The
register is a sealed chain of the site's records. Entries are on the disk before anything is sent; of two processes that
enter different questions at once, one wins.

The terms of a question that a site fixes when it answers are public: they follow from the question alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

from confide.counts import ScoreCounts
from confide.errors import FederationError, RefusedError
from confide.federation.modes.exact import forget_words
from confide.federation.modes.registry import mode_of
from confide.federation.question import Question
from confide.federation.site.config import SiteFolder
from confide.federation.site.records import REGISTER, SiteRecords, append, read
from confide.federation.site.scored_rows import SiteRows
from confide.records.chain import canonical_json, same_seal, seal


class EntryKind(StrEnum):
    """Kind of an entry in a site's register."""

    EXACT = "exact"
    PRIVATE = "private"


_WHY: Mapping[str, str] = {
    "mode": "exact answers in two modes can be subtracted from each other",
    "sites": "the difference of two sums over different sites is some sites' own counts",
    "grid": "the difference of tables on two grids gives small cells away",
    "bins": "the difference of tables with different bins gives small cells away",
    "minimum_cell": "groups of two sizes together give smaller ones away",
    "left": "sums after other sites dropped out can be subtracted from each other",
}


def kind_of(question: Question) -> EntryKind:
    """Return the kind of entry that a question has in a register."""
    return EntryKind.PRIVATE if mode_of(question).private else EntryKind.EXACT


def entry(question: Question) -> tuple[EntryKind, str, str]:
    """Return the kind of a question's entry, the name that it is found by, and its terms."""
    kind, terms = kind_of(question), canonical_json(mode_of(question).fixed_terms(question), "terms")
    return kind, question.model if kind is EntryKind.EXACT else sha256(terms.encode()).hexdigest(), terms


def another_question(model: str, fixed: Mapping[str, Any], asked: Mapping[str, Any]) -> RefusedError:
    """Return the refusal of an exact question that differs from the one that was answered."""
    differing = next(name for name in (*_WHY, *asked, *fixed) if fixed.get(name) != asked.get(name))
    said = {"sites": "other sites", "bins": "other bins", "minimum_cell": "another minimum cell"}
    said |= {"left": "another number of sites that may drop out (`fewest`, `colluders`)"}
    why = _WHY.get(differing, "answers to different questions can be subtracted from each other")
    return RefusedError(
        f"this site has answered another question about model {model!r} without noise, with "
        f"{said.get(differing, f'another {differing}')}; {why}. Ask the same question again, ask in mode private, or "
        f"{forget_words(model)}"
    )


def drawn_before(question: Question) -> RefusedError:
    """Return the refusal to send noisy scores a second time."""
    return RefusedError(
        f"this site has sent noisy scores of model {question.model!r} once; drawn again, their noise could be averaged "
        f"away. Ask in mode private, or {forget_words(question.model)}"
    )


def other_sites(signed: Question, before: tuple[str, ...]) -> RefusedError:
    """Return the refusal of a signed question that was answered with other sites."""
    return RefusedError(
        f"this site has answered this question with the sites {', '.join(map(repr, before))}, and answers it with no "
        "others: whoever lists several could subtract the sums. Ask the same `sites` again, or "
        f"{mode_of(signed).ask_anew(signed)}"
    )


class RegisterKind(StrEnum):
    """Kind of an entry of the register's chain."""

    FIXED = "fixed"  # the terms of a question, and the data that it was answered with
    LISTED = "listed"  # the sites with which a signed question is answered
    SETTLED = "settled"  # the sites over which a sum may be read
    MET = "met"  # the own keys of the sites with which a sum was answered
    FORGOTTEN = "forgotten"  # the names of a model that may be asked about anew


@dataclass(slots=True, kw_only=True)
class _Held:
    """Entries of the register that count, as plain data; the oldest first."""

    fixed: list[dict[str, Any]] = field(default_factory=list)
    listed: list[dict[str, Any]] = field(default_factory=list)
    settled: list[dict[str, Any]] = field(default_factory=list)
    met: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, entries: Iterable[dict[str, Any]]) -> _Held:
        held = cls()
        for entry in entries:
            try:
                held._add(RegisterKind(entry["is"]), entry)
            except ValueError:
                raise FederationError(
                    "the site's register holds an unknown entry; install the newest confide"
                ) from None
        return held

    def _add(self, kind: RegisterKind, entry: dict[str, Any]) -> None:
        if kind is RegisterKind.FORGOTTEN:
            names = entry["names"]
            for key, several in (("model", (self.fixed, self.listed)), ("name", (self.settled, self.met))):
                for rows in several:
                    rows[:] = [row for row in rows if row["kind"] != EntryKind.EXACT or row[key] not in names]
        else:
            rows = {
                RegisterKind.FIXED: self.fixed,
                RegisterKind.LISTED: self.listed,
                RegisterKind.SETTLED: self.settled,
                RegisterKind.MET: self.met,
            }[kind]
            rows.append(entry)

    def fixed_for(self, question: Question, source: str) -> list[dict[str, Any]]:
        """Return what is fixed for a question's model, or for its model's source."""
        return _found(self.fixed, question, source)

    def exact_names(self, model: str, source: str) -> set[str]:
        """Return the names under which a model, or its source, has an entry without noise."""
        return {row["name"] for row in self.fixed if row["kind"] == EntryKind.EXACT and _is(row, model, source)}

    def list_of(self, signed: Question) -> tuple[str, ...] | None:
        """Return the sites with which a signed question was answered, or None if it was not."""
        digest = signed.lasting_digest()
        return next((tuple(row["sites"]) for row in self.listed if row["question"] == digest), None)

    def settled_list(self, question: Question, source: str) -> dict[str, str] | None:
        """Return the sites over which a sum may be read, with their own keys; None if nothing is settled yet."""
        return next((dict(row["sites"]) for row in _found(self.settled, question, _own(question, source))), None)

    def met_keys(self, question: Question, source: str) -> dict[str, str]:
        """Return the own keys of the sites with which a sum was answered."""
        rows = _found(self.met, question, _own(question, source))
        return {site: key for row in reversed(rows) for site, key in row["sites"].items()}


def _found(rows: Iterable[dict[str, Any]], question: Question, source: str) -> list[dict[str, Any]]:
    kind, name, _ = entry(question)
    return [row for row in rows if row["kind"] == kind and _is(row, name, source)]


def _is(row: Mapping[str, Any], name: str, source: str) -> bool:
    return bool(row["name"] == name or (source and row["source"] == source))


def _own(question: Question, source: str) -> str:
    """Return the source of a question's model, which counts only without noise."""
    return source if kind_of(question) is EntryKind.EXACT else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """Entry of the register: the model of an answered question, the fixed terms, and the time."""

    model: str
    private: bool
    terms: Mapping[str, Any]
    at: str


class Register:
    """Register in a site's folder."""

    def __init__(self, records: SiteRecords | str | Path) -> None:
        self.records = records if isinstance(records, SiteRecords) else SiteRecords(SiteFolder(Path(records)))

    def check(self, question: Question, rows: SiteRows, *, source: str = "") -> None:
        """Refuse a question that must not be answered after earlier ones; nothing is written.

        `source` says from which file and column the model's scores come (`SiteConfig.source`).
        """
        with self._reading() as (held, key):
            _check(held, question, None if key is None else _sealed(key, rows), source)

    def check_terms(self, question: Question, *, source: str = "") -> None:
        """Refuse a question without noise whose terms differ from those that were answered, whatever the rows are."""
        with self._reading() as (held, _):
            _check_terms(question, held.fixed_for(question, source))

    def holds(self, question: Question) -> bool:
        """Return whether exactly this question was answered."""
        kind, name, terms = entry(question)
        with self._reading() as (held, _):
            return any((row["kind"], row["name"], row["terms"]) == (kind, name, terms) for row in held.fixed)

    def fix(self, question: Question, rows: SiteRows, *, source: str = "", first: bool = False) -> None:
        """Refuse a question or enter it, before it is answered; the entry is on the disk when this returns.

        With `first`, refuse also a question that was answered before.
        """
        with self.records.writing() as records:
            held = _Held.of(read(records, REGISTER))
            data = _sealed(records.key, rows)
            _check(held, question, data, source)
            terms = entry(question)[2]
            if first and held.exact_names(question.model, source):
                raise drawn_before(question)
            place = _sum(question, source)
            if not any(place.items() <= row.items() for row in held.fixed):
                counts = _digest(records.key, rows.counts)
                more = {"model": question.model, "terms": terms, "data": data, "counts": counts}
                append(records, REGISTER, {"is": RegisterKind.FIXED, **place, **more})

    def list_sites(self, signed: Question, sites: tuple[str, ...]) -> None:
        """Refuse to answer a signed question with other sites than before, or enter these.

        The entry is on the disk when this returns. Of two lists at once, one is entered and the other refused.
        """
        with self.records.writing() as records:
            before = _Held.of(read(records, REGISTER)).list_of(signed)
            if before is not None and before != tuple(sorted(sites)):
                raise other_sites(signed, before)
            if before is None:
                listed = {"question": signed.lasting_digest(), "kind": kind_of(signed), "model": signed.model}
                append(records, REGISTER, {"is": RegisterKind.LISTED, **listed, "sites": sorted(sites)})

    def listed(self, signed: Question) -> tuple[str, ...] | None:
        """Return the sites with which a signed question was answered, or None if it was not."""
        with self._reading() as (held, _):
            return held.list_of(signed)

    def settled(self, question: Question, *, source: str = "") -> Mapping[str, str] | None:
        """Return the sites over which a sum may be read, with their own keys; None if nothing is settled yet."""
        with self._reading() as (held, _):
            return held.settled_list(question, source)

    def settle(self, question: Question, members: Mapping[str, str], *, source: str = "") -> None:
        """Refuse another list than was settled, or store this one; it is on the disk when this returns."""
        with self.records.writing() as records:
            held, place = _Held.of(read(records, REGISTER)), _sum(question, source)
            before = held.settled_list(question, source)
            if before is not None:
                check_members(question, before, members)
            if not any(place.items() <= row.items() for row in held.settled):
                append(records, REGISTER, {"is": RegisterKind.SETTLED, **place, "sites": dict(members)})

    def check_met(self, question: Question, members: Mapping[str, str], *, source: str = "") -> None:
        """Refuse a site that was set up anew since this sum was answered with it; nothing is written."""
        with self._reading() as (held, _):
            check_met(question, held.met_keys(question, source), members)

    def meet(self, question: Question, members: Mapping[str, str], *, source: str = "") -> None:
        """Refuse a site that was set up anew, or store the own keys of all with whom a sum is answered."""
        with self.records.writing() as records:
            held, place = _Held.of(read(records, REGISTER)), _sum(question, source)
            check_met(question, held.met_keys(question, source), members)
            known = {site for row in held.met if place.items() <= row.items() for site in row["sites"]}
            new = {site: key for site, key in members.items() if site not in known}
            if new:
                append(records, REGISTER, {"is": RegisterKind.MET, **place, "sites": new})

    def answered_exactly(self, model: str, *, source: str = "") -> bool:
        """Return whether a question without noise was answered about a model, or its source under another name."""
        with self._reading() as (held, _):
            return bool(held.exact_names(model, source))

    def names_of(self, counts: ScoreCounts) -> tuple[str, ...]:
        """Return the models under whose names exactly these counts were asked about without noise.

        For the site's administrator, at set-up: a reply to a coordinator must not depend on it.
        """
        with self._reading() as (held, key):
            if key is None:
                return ()
            data = _digest(key, counts)
            exact = [row for row in held.fixed if row["kind"] == EntryKind.EXACT]
        return tuple(sorted({row["model"] for row in exact if same_seal(row["counts"], data)}))

    def forget(self, model: str, *, source: str = "") -> bool:
        """Forget a model's exact entries, under all names of its source; return whether there were any.

        For the site's administrator, who knows that the earlier answers and the new ones together give nothing away,
        or never reached anybody. Private answers are not forgotten: ask a new edition of the question instead.
        """
        if not self.records.exists():
            return False
        with self.records.writing() as records:
            held = _Held.of(read(records, REGISTER))
            names = {model, *held.exact_names(model, source)}
            exact = [row for row in (*held.fixed, *held.listed) if row["kind"] == EntryKind.EXACT]
            there = any(row["model"] in names for row in exact)
            sums = any(row["kind"] == EntryKind.EXACT and row["name"] in names for row in (*held.settled, *held.met))
            if there or sums:
                append(records, REGISTER, {"is": RegisterKind.FORGOTTEN, "names": sorted(names)})
            return there

    def fixed(self) -> tuple[Fixed, ...]:
        """Return all entries, the oldest first, once for each name."""
        with self._reading() as (held, _):
            first: dict[tuple[str, str], dict[str, Any]] = {}
            for row in held.fixed:
                first.setdefault((row["kind"], row["name"]), row)
        return tuple(
            Fixed(
                model=row["model"],
                private=row["kind"] == EntryKind.PRIVATE,
                terms=json.loads(row["terms"]),
                at=row["at"],
            )
            for row in sorted(first.values(), key=lambda row: (row["at"], row["model"]))
        )

    @contextmanager
    def _reading(self) -> Iterator[tuple[_Held, bytes | None]]:
        """Yield what the register holds, and the key of the records; nothing, and no key, if there are none."""
        if not self.records.exists():
            yield _Held(), None
            return
        yield _Held.of(self.records.read(REGISTER)), self.records.store.key_file.require()


def check_members(question: Question, settled: Mapping[str, str], members: Mapping[str, str]) -> None:
    """Refuse other sites than those of a settled list, and a site among them that was set up anew."""
    if set(settled) != set(members):
        raise other_sites(question, tuple(sorted(settled)))
    check_met(question, settled, members)


def check_met(question: Question, met: Mapping[str, str], members: Mapping[str, str]) -> None:
    """Refuse a site that has another key than when this sum was answered with it."""
    anew = [site for site, key in members.items() if met.get(site, key) != key]
    if anew:
        raise RefusedError(
            f"a site was set up anew since this question was answered ({anew[0]!r}), and remembers neither its answer "
            f"nor with which sites it gave it; {mode_of(question).ask_anew(question)}"
        )


def _sum(question: Question, source: str) -> dict[str, str]:
    """Return what a sum is known by: its terms, and without noise also the source of the model's scores."""
    kind, name, _ = entry(question)
    return {"kind": kind, "name": name, "source": _own(question, source)}


def _check(held: _Held, question: Question, data: str | None, source: str) -> None:
    """Refuse a question that does not fit what is fixed for its model, or for its model's source.

    Data are not compared over models: whether two of them score all rows alike would tell of single rows.
    """
    fixed = held.fixed_for(question, source)
    _check_terms(question, fixed)
    if data is not None and not all(same_seal(row["data"], data) for row in fixed):
        raise mode_of(question).changed_data(question)


def _check_terms(question: Question, fixed: Iterable[Mapping[str, Any]]) -> None:
    """Refuse a question without noise that has other terms than those that are fixed."""
    kind, _, terms = entry(question)
    for row in fixed:
        if row["terms"] != terms and kind is EntryKind.EXACT:
            raise another_question(question.model, json.loads(row["terms"]), json.loads(terms))


def _sealed(key: bytes, rows: SiteRows) -> str:
    """Return a keyed hash of the identity of rows."""
    return seal(key, "identity of rows", rows.identity)


def _digest(key: bytes, counts: ScoreCounts) -> str:
    """Return a keyed hash of counts, for the administrator's own eyes: no reply depends on it."""
    plain = sha256()
    for array in (counts.scores, counts.positives, counts.negatives):
        kind = array.dtype.kind
        plain.update(f"{kind}{array.size}:".encode())
        plain.update((array + 0).astype(f"<{kind}8").tobytes())  # adding nothing makes minus zero zero
    return seal(key, "counts of rows", plain.digest())
