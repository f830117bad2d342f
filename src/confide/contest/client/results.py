"""Answers of an evaluation server as values: each field is checked as it is read.

The server's answer names the kind of the refusal. What the client asked for, and what the server says about the contest
when asked once more, tell the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Any

from confide.contest.client.refusals import ProblemKind, printable, refusal_text
from confide.contest.terms import ContestTerms
from confide.errors import OracleError, UsageError
from confide.intervals.interval import Interval


@dataclass(frozen=True, slots=True)
class Fields:
    """Fields of one part of an answer; `what` names it in errors."""

    plain: Mapping[str, Any]
    what: str

    @classmethod
    def of(cls, plain: object, what: str) -> Fields:
        """Refuse what is no object of JSON."""
        if not isinstance(plain, Mapping):
            raise unexpected(what)
        return cls(plain, what)

    def text(self, name: str) -> str:
        """Return a text; numbers are written as text. Characters that steer a terminal are replaced."""
        value = self.plain.get(name)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise unexpected(f"{self.what}: {name}")
        return printable(value)

    def optional_text(self, name: str) -> str | None:
        """Return a text; None if there is none."""
        return None if self.plain.get(name) is None else self.text(name)

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        return [printable(one) for one in self.items(name)]

    def number(self, name: str) -> float:
        """Return a number."""
        value = self.plain.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise unexpected(f"{self.what}: {name}")
        try:
            return float(value)
        except OverflowError:
            raise unexpected(f"{self.what}: {name}") from None

    def whole(self, name: str) -> int:
        """Return a whole number."""
        value = self.plain.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise unexpected(f"{self.what}: {name}")
        return value

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        value = self.plain.get(name)
        if not isinstance(value, list):
            raise unexpected(f"{self.what}: {name}")
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        """Return an object."""
        value = self.plain.get(name)
        if not isinstance(value, dict):
            raise unexpected(f"{self.what}: {name}")
        return value

    def metric(self, name: str) -> str:
        """Return the name of a metric, which may be given with its threshold."""
        value = self.plain.get(name)
        return Fields.of(value, self.what).text("name") if isinstance(value, Mapping) else self.text(name)

    def interval(self, name: str) -> Interval | None:
        """Return an interval; None if there is none."""
        if self.plain.get(name) is None:
            return None
        read = Fields.of(self.plain[name], f"{self.what}: {name}")
        return Interval(
            lower=read.number("lower"),
            upper=read.number("upper"),
            level=read.number("level"),
            method=read.text("method"),
        )


def unexpected(what: str) -> OracleError:
    """Return the error of an answer that lacks something."""
    return OracleError(
        f"the server's answer lacks what an evaluation server of this version says ({what}); check the address, and "
        "install the server's version of confide"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Submissions that a participant may still make: today (UTC) and in all."""

    daily_limit: int
    daily_left: int
    total_limit: int
    total_left: int
    resets_at: str

    @classmethod
    def from_dict(cls, plain: Any) -> Limits:
        """Read an answer."""
        read = Fields.of(plain, "limits")
        counts = {name: read.whole(name) for name in ("daily_limit", "daily_left", "total_limit", "total_left")}
        return cls(**counts, resets_at=read.text("resets_at"))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A scored submission.

    `sample` is an interval for the metric on the contest's rows, `population` one for rows like them. `replayed` means
    that the server had these scores already, so nothing was counted against a limit.
    """

    id: str
    contest: str
    participant: str
    received_at: str
    digest: str
    rows: int
    metric: str
    value: float
    sample: Interval | None
    population: Interval | None
    limits: Limits | None = None
    replayed: bool = False

    @classmethod
    def from_dict(cls, plain: Any) -> Submission:
        """Read an answer."""
        read = Fields.of(plain, "submission")
        limits = read.plain.get("limits")
        return cls(
            **{name: read.text(name) for name in ("id", "contest", "participant", "received_at", "digest")},
            rows=read.whole("rows"),
            metric=read.metric("metric"),
            value=read.number("value"),
            sample=read.interval("sample"),
            population=read.interval("population"),
            limits=None if limits is None else Limits.from_dict(limits),
            replayed=bool(read.plain.get("replayed", False)),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """Privacy of a contest's labels: epsilon, and the most that anyone can become sure of one label."""

    epsilon: float
    certainty: float
    final_certainty: float | None
    words: tuple[str, ...]

    @classmethod
    def from_dict(cls, plain: Any) -> Promise:
        """Read an answer."""
        read = Fields.of(plain, "promise")
        final = read.plain.get("final_certainty")
        return cls(
            epsilon=read.number("epsilon"),
            certainty=read.number("certainty"),
            final_certainty=None if final is None else read.number("final_certainty"),
            words=tuple(read.texts("words")),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "words": list(self.words)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """A contest on a server: its terms, promise and state."""

    name: str
    title: str
    state: str
    terms: ContestTerms
    promise: Promise
    participants: int
    submissions: int

    @classmethod
    def from_dict(cls, plain: Any) -> Contest:
        """Read an answer."""
        read = Fields.of(plain, "contest")
        return cls(
            **{name: read.text(name) for name in ("name", "title", "state")},
            terms=_terms(read.mapping("terms")),
            promise=Promise.from_dict(read.mapping("promise")),
            participants=read.whole("participants"),
            submissions=read.whole("submissions"),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        plain = {name: getattr(self, name) for name in ("name", "title", "state", "participants", "submissions")}
        return {**plain, "terms": self.terms.to_dict(), "promise": self.promise.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardEntry:
    """A participant's best submission on the board, with the ranks that the noise leaves open."""

    name: str
    rank: int
    rank_lowest: int
    rank_highest: int
    value: float
    sample: Interval | None
    population: Interval | None
    submission: str
    submissions: int

    @classmethod
    def from_dict(cls, plain: Any) -> LeaderboardEntry:
        """Read an answer."""
        read = Fields.of(plain, "entry of the board")
        counts = {name: read.whole(name) for name in ("rank", "rank_lowest", "rank_highest", "submissions")}
        return cls(
            name=read.text("name"),
            value=read.number("value"),
            sample=read.interval("sample"),
            population=read.interval("population"),
            submission=read.text("submission"),
            **counts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """Board of a contest."""

    contest: str
    metric: str
    as_of: str
    scored: int
    entries: tuple[LeaderboardEntry, ...]

    @classmethod
    def from_dict(cls, plain: Any) -> Leaderboard:
        """Read an answer."""
        read = Fields.of(plain, "board")
        return cls(
            contest=read.text("contest"),
            metric=read.metric("metric"),
            as_of=read.text("as_of"),
            scored=read.whole("scored"),
            entries=tuple(LeaderboardEntry.from_dict(one) for one in read.items("entries")),
        )

    def knows(self, submission: Submission) -> bool:
        """Return whether the board was made after a submission was received."""
        try:
            return datetime.fromisoformat(self.as_of) >= datetime.fromisoformat(submission.received_at)
        except (ValueError, TypeError):  # no moments, or one without a time zone
            return True

    def entry(self, name: str) -> LeaderboardEntry | None:
        """Return the entry of a participant, if there is one."""
        return next((one for one in self.entries if one.name == name), None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "entries": [asdict(one) for one in self.entries]}


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalistChoice:
    """Submissions of a participant in the final, of which at most `most` may be chosen.

    If `chosen` is False, nothing was chosen, and the best entry on the board stands.
    """

    submissions: tuple[str, ...]
    chosen: bool
    most: int

    @classmethod
    def from_dict(cls, plain: Any) -> FinalistChoice:
        """Read an answer."""
        read = Fields.of(plain, "choice of finalists")
        return cls(
            submissions=tuple(read.texts("submissions")),
            chosen=bool(read.plain.get("chosen", True)),
            most=read.whole("most"),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), "submissions": list(self.submissions)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A member of a contest, as the organiser sees it."""

    name: str
    roles: tuple[str, ...]
    submissions: int
    last_at: str | None
    finalists: int

    @classmethod
    def from_dict(cls, plain: Any) -> Member:
        """Read an answer."""
        read = Fields.of(plain, "member")
        return cls(
            name=read.text("name"),
            roles=tuple(read.texts("roles")),
            submissions=read.whole("submissions"),
            last_at=read.optional_text("last_at"),
            finalists=read.whole("finalists"),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestStatus:
    """A contest as the organiser sees it: state, counts, members and the states that it can change to."""

    name: str
    state: str
    participants: int
    submissions: int
    submissions_today: int
    members: tuple[Member, ...]
    next_states: tuple[str, ...]

    @classmethod
    def from_dict(cls, plain: Any) -> ContestStatus:
        """Read an answer."""
        read = Fields.of(plain, "status")
        counts = {name: read.whole(name) for name in ("participants", "submissions", "submissions_today")}
        return cls(
            name=read.text("name"),
            state=read.text("state"),
            members=tuple(Member.from_dict(one) for one in read.items("members")),
            next_states=tuple(read.texts("next_states")),
            **counts,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRecord:
    """A token as the organiser sees it, without its secret."""

    id: str
    participant: str
    role: str
    created_at: str
    revoked_at: str | None
    expires_at: str | None = None

    @classmethod
    def from_dict(cls, plain: Any) -> TokenRecord:
        """Read an answer."""
        read = Fields.of(plain, "token")
        named = {name: read.text(name) for name in ("id", "participant", "role", "created_at")}
        revoked_at, expires_at = (read.optional_text(name) for name in ("revoked_at", "expires_at"))
        return cls(**named, revoked_at=revoked_at, expires_at=expires_at)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewToken:
    """A new token. The server shows it once; the representation does not show it at all."""

    id: str
    participant: str
    role: str
    token: str = field(repr=False)

    @classmethod
    def from_dict(cls, plain: Any) -> NewToken:
        """Read an answer."""
        read = Fields.of(plain, "token")
        return cls(**{name: read.text(name) for name in ("id", "participant", "role", "token")})

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with the token."""
        return asdict(self)


def _terms(plain: dict[str, Any]) -> ContestTerms:
    try:
        return ContestTerms.from_dict(plain)
    except UsageError:
        raise unexpected("contest: terms") from None


class Wish(Enum):
    """What a request wanted, as far as it decides what a refusal means."""

    OTHER = auto()
    SUBMIT = auto()
    CHOOSE = auto()
    FINAL = auto()
    REVOKE = auto()


_ABSENT = {
    Wish.CHOOSE: (
        "one of these submissions is not yours, or does not exist",
        "choose among the ids that your own submissions got",
    ),
    Wish.FINAL: ("the final is not published yet", "look at the board until then"),
    Wish.REVOKE: ("there is no token with this id", "list the tokens of the contest for their ids"),
}
_ENDED = {
    Wish.SUBMIT: "submissions have ended",
    Wish.CHOOSE: "finalists can no longer be chosen",
}


def needs_contest(error: OracleError, wish: Wish) -> bool:
    """Return whether the contests of the server explain a refusal."""
    if error.kind == ProblemKind.NOT_FOUND:
        return True
    return error.kind == ProblemKind.WRONG_STATE and wish in _ENDED


def explained(
    error: OracleError, wish: Wish, name: str, contests: Sequence[Contest], *, with_token: bool
) -> OracleError:
    """Return a refusal in words that fit the contest, of those that the server shows."""
    found = next((one for one in contests if one.name == name), None)
    if error.kind == ProblemKind.WRONG_STATE:
        return error if found is None else _in(error, *_state(found, wish))
    if found is None:
        known = ", ".join(one.name for one in contests)
        step = f"choose from {known}" if known else "check the address; the server shows no contest"
        return _in(error, f"the server has no contest {name!r}", step)
    if wish in _ABSENT:
        return _in(error, *_ABSENT[wish])
    if with_token:
        step = f"a token is for one contest; set CONFIDE_TOKEN to the one for {name!r}"
        return _in(error, f"contest {name!r} does not know this token", step)
    return error


def _state(contest: Contest, wish: Wish) -> tuple[str, str]:
    """Return what a contest's state means for a participant, and the next step."""
    if contest.state in ("closed", "published"):
        step = "look at the final" if contest.state == "published" else _after_closing(contest)
        return f"contest {contest.name!r} is {contest.state}: {_ENDED[wish]}", step
    return f"contest {contest.name!r} is {contest.state}", "wait until the organiser opens it"


def _after_closing(contest: Contest) -> str:
    return "the board stands" if contest.terms.final_epsilon is None else "wait for the final"


def _in(error: OracleError, words: str, step: str) -> OracleError:
    return type(error)(
        refusal_text(words, step),
        status=error.status,
        kind=error.kind,
        next_step=step,
        retry_after=error.retry_after,
    )
