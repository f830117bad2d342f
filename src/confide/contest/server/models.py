"""Bodies of requests and responses. Nothing that is not declared here leaves the server."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from confide.contest.server.contests import State
from confide.contest.server.tokens import DAYS, Role

Name = Annotated[str, Field(min_length=1, max_length=80)]
Identity = Annotated[str, Field(pattern=r"^[0-9A-HJKMNP-TV-Z]{26}$")]
Instant = Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class Model(BaseModel):
    """A body without unknown members."""

    model_config = ConfigDict(extra="forbid", serialize_by_alias=True)


class MetricModel(Model):
    """Metric of a contest."""

    name: str
    threshold: float | None


class IntervalModel(Model):
    """A confidence interval."""

    lower: float
    upper: float
    level: float
    method: str


class TermsModel(Model):
    """Terms of a contest. Fractions are text, so that they stay exact."""

    schema_: str = Field(alias="schema")
    name: str
    title: str
    metric: MetricModel
    mode: str
    rows: int
    public_rows: int
    public_share: str
    epsilon: str
    flip: str | None
    final_epsilon: str | None
    final_delta: str
    id_column: str
    score_column: str
    daily_limit: int
    total_limit: int
    finalists: int
    level: float


class PromiseModel(Model):
    """What is promised to the people behind the labels."""

    epsilon: float
    certainty: float = Field(description="The most that anybody can become sure of one label of the public part.")
    final_certainty: float | None = Field(description="The same for a label of the final.")
    words: list[str]


class ContestModel(Model):
    """A contest."""

    name: str
    title: str
    state: State
    terms: TermsModel
    promise: PromiseModel
    participants: int
    submissions: int


class ContestsModel(Model):
    """All contests that the caller may see."""

    contests: list[ContestModel]


class LimitsModel(Model):
    """Submissions that are left. Only scored ones count."""

    daily_limit: int
    daily_left: int
    total_limit: int
    total_left: int
    resets_at: Instant


class CalibrationBinModel(Model):
    """Rows with similar probabilities, and the observed frequency among them."""

    lower: float
    upper: float
    rows: int
    predicted: float
    observed: float
    interval: IntervalModel


class SubmissionModel(Model):
    """A scored submission."""

    id: str
    contest: str
    participant: str
    received_at: Instant
    digest: str = Field(description="SHA-256 of the scores in the template's order, as little-endian float64.")
    rows: int
    metric: MetricModel
    value: float
    sample: IntervalModel = Field(description="For the metric of these rows; it accounts for the noise.")
    population: IntervalModel = Field(description="For the metric of the population; noise and sampling.")
    calibration: list[CalibrationBinModel] | None = Field(
        default=None, description="Observed frequencies, if scores are probabilities."
    )
    token: str | None = Field(default=None, description="Id of the token with which it was sent.")
    limits: LimitsModel | None = None
    replayed: bool = False


class SubmissionsModel(Model):
    """Submissions, the newest first. `next` continues the list as `before`."""

    submissions: list[SubmissionModel]
    next: str | None


class BoardEntryModel(Model):
    """Line of a leaderboard. Entries that the data cannot tell apart share a rank."""

    rank: int
    rank_lowest: int
    rank_highest: int
    name: str
    value: float
    sample: IntervalModel
    population: IntervalModel
    submission: str
    submissions: int


class BoardModel(Model):
    """A leaderboard: the best submission of each participant."""

    schema_: str = Field(alias="schema")
    contest: str
    metric: MetricModel
    as_of: Instant
    scored: int
    entries: list[BoardEntryModel]


class ChoiceModel(Model):
    """Submissions chosen for the final."""

    submissions: list[Identity] = Field(max_length=100)


class FinalistsModel(Model):
    """A participant's submissions in the final; `chosen` is False where the best one stands by default."""

    submissions: list[str]
    chosen: bool
    most: int


class StateChangeModel(Model):
    """A new state."""

    state: Literal["open", "paused", "closed"]


class NewTokenModel(Model):
    """A request for a token."""

    participant: Name
    role: Role = Role.PARTICIPANT
    until: date | None = Field(
        default=None, description=f"Last day, in UTC, on which the token is valid; {DAYS} days from now by default."
    )


class IssuedTokenModel(Model):
    """A new token. It is shown once."""

    id: str
    participant: str
    role: Role
    expires_at: Instant
    token: str


class TokenModel(Model):
    """A token, without its secret."""

    id: str
    participant: str
    role: Role
    created_at: Instant
    expires_at: Instant
    revoked_at: Instant | None


class TokensModel(Model):
    """All tokens of a contest."""

    tokens: list[TokenModel]


class EntryModel(Model):
    """An entry of the sealed record of a contest: what was done, when, by whom and with which token."""

    sequence: int
    kind: str
    at: Instant
    by: str | None = Field(description="Name of the member, or `administrator` for the server's machine.")
    by_token: str | None = Field(description="Id of the token that acted; none on the server's machine.")
    about: str | None = Field(description="Id or name of what was done: a submission, a token, a state.")


class RecordModel(Model):
    """Entries of the record, the newest first. `next` continues the list as `before`."""

    entries: list[EntryModel]
    next: int | None


class MemberModel(Model):
    """A member of a contest, as the organiser sees it."""

    name: str
    roles: list[Role]
    submissions: int
    last_at: Instant | None
    finalists: int


class StatusModel(Model):
    """A contest, as the organiser sees it."""

    name: str
    state: State
    participants: int
    submissions: int
    submissions_today: int
    members: list[MemberModel]
    next_states: list[State]


class FinalEntryModel(Model):
    """Result of a finalist."""

    name: str
    digest: str
    value: float
    sample: IntervalModel
    population: IntervalModel
    rank: int
    rank_lowest: int
    rank_highest: int


class FinalResultModel(Model):
    """Result of a final, as the holder of the labels made it."""

    schema_: str = Field(alias="schema")
    contest: str
    metric: MetricModel
    mechanism: str
    rows: int
    entries: list[FinalEntryModel]
    guarantee: dict[str, Any]
    noise: dict[str, Any]
    meaning: dict[str, str] = Field(default_factory=dict)


class ShakeUpModel(Model):
    """Ranks of a finalist: on the board, which names the participant's best submission, and in the final."""

    name: str
    participant: str
    submission: str
    board_rank: int | None
    board_rank_lowest: int | None
    board_rank_highest: int | None
    rank: int
    rank_lowest: int
    rank_highest: int


class FinalModel(FinalResultModel):
    """A published final, beside the ranks of the board."""

    published_at: Instant
    shake_up: list[ShakeUpModel]


class HealthModel(Model):
    """Whether the server works."""

    status: Literal["up", "ready"]
