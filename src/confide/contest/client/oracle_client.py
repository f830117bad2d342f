"""Client of an evaluation server, for participants and organisers."""

from __future__ import annotations

import io
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from confide.contest.client.results import (
    Contest,
    ContestStatus,
    Fields,
    FinalistChoice,
    Leaderboard,
    Limits,
    NewToken,
    Submission,
    TokenRecord,
    Wish,
    explained,
    needs_contest,
    unexpected,
)
from confide.contest.client.transport import TEMPLATE_BYTES, Address, Body, Progress, Transport, checked_contest
from confide.errors import OracleError, ParameterError, UnreadableError

if TYPE_CHECKING:
    from confide.contest.final_result import FinalResult
    from confide.contest.template import Template


CSV = "text/csv"
PARQUET = "application/vnd.apache.parquet"

_PARQUET_BEGINS = b"PAR1"
_GZIP_BEGINS = b"\x1f\x8b"


def file_body(path: Path) -> Body:
    """Return the body of a file, whose first bytes tell CSV from Parquet."""
    try:
        with path.open("rb") as stream:
            begins, size = stream.read(4), os.fstat(stream.fileno()).st_size
    except OSError as error:
        raise UnreadableError(f"{path} cannot be read ({error.strerror}); check the name") from None
    if not size:
        raise UnreadableError(f"{path} is empty; give a file with a line for each row")
    if begins.startswith(_GZIP_BEGINS):
        raise ParameterError(f"{path} is compressed; submit plain CSV, or Parquet, which is compressed by itself")
    return Body(size=size, kind=PARQUET if begins == _PARQUET_BEGINS else CSV, open=lambda: path.open("rb"))


def bytes_body(content: bytes, kind: str) -> Body:
    """Return the body of content in memory."""
    return Body(size=len(content), kind=kind, open=lambda: io.BytesIO(content))


def scores_body(scores: Any, *, id_column: str, score_column: str) -> Body:
    """Return a dataframe, or a mapping from ids to scores, as CSV."""
    from confide.sources.submissions import score_csv

    return bytes_body(score_csv(scores, id_column=id_column, score_column=score_column), CSV)


def content_key(body: Body) -> str:
    """Return the SHA-256 of a body, in hex: the key under which the same file is the same submission."""
    digest = sha256()
    with body.open() as stream:
        for part in _blocks(stream):
            digest.update(part)
    return digest.hexdigest()


def _blocks(stream: BinaryIO) -> Any:
    return iter(lambda: stream.read(1 << 20), b"")


TOKEN_VARIABLE = "CONFIDE_TOKEN"  # noqa: S105  # the name of a variable

_TOKEN = re.compile(r"cfd_[A-Za-z0-9_-]{43}")
_BOARD_SECONDS, _BOARD_PAUSE = 6.0, 0.3
_MOST_SUBMISSIONS = 1_000_000
_KEY = re.compile(r"[!-~]{1,200}")
_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")


class OracleClient:
    """Client of an evaluation server.

    Parameters
    ----------
    url
        The address of a contest, such as https://oracle.example/contests/heart, or of the server alone.
    token
        The token that the organiser gave you; by default the environment's CONFIDE_TOKEN. Terms, template, board and
        final can be read without one.
    contest
        The contest, if the address does not name it.
    timeout
        Seconds to wait for an answer.
    allow_http
        Allow http:// to other machines. Others on the way can then read the token.

    Notes
    -----
    Certificates are checked, redirects are not followed. The variables HTTPS_PROXY and SSL_CERT_FILE are observed. If
    the connection breaks or the server is busy, reading is tried again, and so is submitting: the same scores are never
    counted twice. Requests of organisers that change something are sent once.

    Examples
    --------
    ::

        client = OracleClient("https://oracle.example/contests/heart")  # the token is in CONFIDE_TOKEN
        template = client.template()
        done = client.submit({one: 0.5 for one in template.ids})
        print(done.value, done.population, done.limits)
        for entry in client.leaderboard(after=done).entries:
            print(entry.rank, entry.name, entry.value)
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        contest: str | None = None,
        timeout: float = 60.0,
        allow_http: bool = False,
    ) -> None:
        address = Address.parse(url, allow_http=allow_http)
        named = None if contest is None else checked_contest(contest)
        if named is not None and address.contest is not None and named != address.contest:
            raise ParameterError("`contest` and the address name two contests; leave one of them out")
        if not timeout > 0:
            raise ParameterError(f"`timeout` must be above 0 seconds; got {timeout!r}")
        given = token if token is not None else os.environ.get(TOKEN_VARIABLE) or None
        self._contest = named or address.contest
        self._transport = Transport(address=address, token=_checked_token(given), timeout=timeout)
        self._terms: dict[str, Contest] = {}

    def __repr__(self) -> str:
        contest = "" if self._contest is None else f", contest={self._contest!r}"
        return f"OracleClient({self._transport.address.base!r}{contest})"

    @property
    def has_token(self) -> bool:
        """Return whether requests carry a token."""
        return self._transport.token is not None

    @property
    def address(self) -> str:
        """Return the address of the contest's page, or of the server if no contest was named."""
        return self._transport.address.base if self._contest is None else self.address_of(self._contest)

    def address_of(self, contest: str) -> str:
        """Return the address of a contest's page."""
        return f"{self._transport.address.base}/contests/{checked_contest(contest)}"

    # Everybody

    def contests(self) -> tuple[Contest, ...]:
        """Return the contests of the server."""
        plain = self._transport.request("GET", "/v1/contests", repeatable=True).json()
        return tuple(Contest.from_dict(one) for one in Fields.of(plain, "list of contests").items("contests"))

    def contest(self, name: str | None = None) -> Contest:
        """Return a contest: its terms, promise and state."""
        return Contest.from_dict(self._get(name, ""))

    def template(self, name: str | None = None) -> Template:
        """Return the ids that a submission must score, and the names of its columns."""
        from confide.contest.template import Template

        path = self._path(name, "/template")
        with self._explaining(name):
            reply = self._transport.request("GET", path, repeatable=True, limit=TEMPLATE_BYTES)
        return Template.from_json(reply.content)

    def leaderboard(self, name: str | None = None, *, after: Submission | None = None) -> Leaderboard:
        """Return the board of a contest.

        Servers make a new board every few seconds. With `after`, wait for a board that knows this submission, or
        return the latest one after some seconds.
        """
        deadline = time.monotonic() + _BOARD_SECONDS
        while True:
            board = Leaderboard.from_dict(self._get(name, "/leaderboard"))
            if after is None or board.knows(after) or time.monotonic() > deadline:
                return board
            time.sleep(_BOARD_PAUSE)

    def final(self, name: str | None = None) -> dict[str, Any]:
        """Return the published final of a contest, in the schema confide.contest-final/1 with the shake-up."""
        return self._get(name, "/final", Wish.FINAL)

    # Participants

    def submit(
        self,
        scores: str | Path | Mapping[Any, float] | Any,
        contest: str | None = None,
        *,
        idempotency_key: str | None = None,
        progress: Progress | None = None,
    ) -> Submission:
        """Submit scores and return how good they are.

        `scores` is a file (CSV or Parquet), a dataframe with the columns of the template, or a mapping from ids to
        scores. The same scores are the same submission: a repetition counts once. `idempotency_key` is the SHA-256 of
        the file unless given. `progress` is called with the bytes sent and the bytes in all.
        """
        path = self._path(contest, "/submissions")
        body = self._body(scores, contest)
        key = content_key(body) if idempotency_key is None else idempotency_key
        if not _KEY.fullmatch(key):
            raise ParameterError("`idempotency_key` must have 1 to 200 visible ASCII characters")
        headers = {"Idempotency-Key": key}
        with self._explaining(contest, Wish.SUBMIT):
            reply = self._transport.request(
                "POST", path, body=body, headers=headers, repeatable=True, progress=progress
            )
        return Submission.from_dict(reply.json())

    def submissions(self, contest: str | None = None) -> tuple[Submission, ...]:
        """Return your own submissions, the newest first."""
        found: list[Submission] = []
        page = ""
        while True:
            read = Fields.of(self._get(contest, f"/submissions{page}"), "list of submissions")
            found += [Submission.from_dict(one) for one in read.items("submissions")]
            later = read.optional_text("next")
            if later is None or len(found) > _MOST_SUBMISSIONS:
                return tuple(found)
            if not _ID.fullmatch(later) or (page and page <= f"?before={later}"):
                raise unexpected("list of submissions: next")  # each page is older than the last
            page = f"?before={later}"

    def limits(self, contest: str | None = None) -> Limits:
        """Return how many submissions you have left."""
        return Limits.from_dict(self._get(contest, "/limits"))

    def choose_finalists(self, submissions: Sequence[str], contest: str | None = None) -> FinalistChoice:
        """Choose the submissions that take part in the final, in place of an earlier choice."""
        if isinstance(submissions, str):
            raise ParameterError("`submissions` must be a list of ids of submissions")
        chosen = [_checked_id(one) for one in submissions]
        plain = self._send("PUT", contest, "/finalists", {"submissions": chosen}, repeatable=True, wish=Wish.CHOOSE)
        return FinalistChoice.from_dict(plain)

    def finalists(self, contest: str | None = None) -> FinalistChoice:
        """Return your submissions in the final."""
        return FinalistChoice.from_dict(self._get(contest, "/finalists"))

    # Organisers

    def set_state(self, state: str, contest: str | None = None) -> Contest:
        """Open, pause or close a contest: `state` is "open", "paused" or "closed"."""
        if state not in ("open", "paused", "closed"):
            raise ParameterError(f"`state` must be open, paused or closed; got {state!r}")
        return Contest.from_dict(self._send("POST", contest, "/state", {"state": state}, repeatable=False))

    def status(self, contest: str | None = None) -> ContestStatus:
        """Return the organiser's view of a contest: state, counts and members."""
        return ContestStatus.from_dict(self._get(contest, "/status"))

    def new_token(
        self, participant: str, *, organiser: bool = False, until: date | None = None, contest: str | None = None
    ) -> NewToken:
        """Make a token for a participant, valid through the day `until` (UTC). The server shows it this once."""
        plain = {"participant": participant, "role": "organiser" if organiser else "participant"}
        if until is not None:
            plain["until"] = until.isoformat()
        return NewToken.from_dict(self._send("POST", contest, "/tokens", plain, repeatable=False))

    def tokens(self, contest: str | None = None) -> tuple[TokenRecord, ...]:
        """Return the tokens of a contest, without their secrets."""
        read = Fields.of(self._get(contest, "/tokens"), "list of tokens")
        return tuple(TokenRecord.from_dict(one) for one in read.items("tokens"))

    def revoke(self, token_id: str, contest: str | None = None) -> None:
        """Revoke a token by its id."""
        path = self._path(contest, f"/tokens/{_checked_id(token_id)}")
        with self._explaining(contest, Wish.REVOKE):
            self._transport.request("DELETE", path, repeatable=False)

    def finalists_archive(self, target: str | Path, contest: str | None = None) -> Path:
        """Write finalists.zip, the scores of all finalists of a closed contest, to a file."""
        path = Path(target)
        with self._explaining(contest):
            self._transport.download(self._path(contest, "/finalists/archive"), path)
        return path

    def publish_final(self, result: FinalResult | Mapping[str, Any], contest: str | None = None) -> Contest:
        """Publish the final that the holder computed, and return the contest as it is then."""
        plain = dict(result) if isinstance(result, Mapping) else result.to_dict()
        return Contest.from_dict(self._send("PUT", contest, "/final", plain, repeatable=False))

    # Inside

    def _name(self, given: str | None) -> str:
        name = self._contest if given is None else checked_contest(given)
        if name is None:
            raise ParameterError("name the contest: give `contest`, or an address that ends in /contests/NAME")
        return name

    def _path(self, contest: str | None, rest: str) -> str:
        return f"/v1/contests/{self._name(contest)}{rest}"

    def _get(self, contest: str | None, rest: str, wish: Wish = Wish.OTHER) -> dict[str, Any]:
        with self._explaining(contest, wish):
            return self._transport.request("GET", self._path(contest, rest), repeatable=True).json()

    def _send(
        self,
        method: str,
        contest: str | None,
        rest: str,
        plain: Any,
        *,
        repeatable: bool,
        wish: Wish = Wish.OTHER,
    ) -> dict[str, Any]:
        body = bytes_body(json.dumps(plain, allow_nan=False).encode(), "application/json")
        with self._explaining(contest, wish):
            reply = self._transport.request(method, self._path(contest, rest), body=body, repeatable=repeatable)
        return reply.json() if reply.content else {}

    @contextmanager
    def _explaining(self, contest: str | None, wish: Wish = Wish.OTHER) -> Iterator[None]:
        """Say what a refusal means for the contest, by asking the server for its contests once more."""
        try:
            yield
        except OracleError as error:
            if not needs_contest(error, wish):
                raise
            try:
                known = self.contests()
            except OracleError:
                raise error from None
            raise explained(error, wish, self._name(contest), known, with_token=self.has_token) from None

    def _body(self, scores: Any, contest: str | None) -> Body:
        if isinstance(scores, str | Path):
            return file_body(Path(scores))
        name = self._name(contest)
        if name not in self._terms:
            self._terms[name] = self.contest(name)
        terms = self._terms[name].terms
        return scores_body(scores, id_column=terms.id_column, score_column=terms.score_column)


def _checked_token(token: str | None) -> str | None:
    if token is not None and not _TOKEN.fullmatch(token):
        raise ParameterError(
            "the token must look as the organiser gave it: cfd_ and 43 letters, digits, hyphens or underscores; set "
            f"{TOKEN_VARIABLE} to it"
        )
    return token


def _checked_id(text: str) -> str:
    if not isinstance(text, str) or not _ID.fullmatch(text):
        raise ParameterError("an id has 26 digits and capital letters, as the server wrote it")
    return text
