"""Requests drawn from the description of the API, sent to a real server; every answer must fit the description."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.contest.server.running import PARQUET, Running

CHECKS = [
    schemathesis.checks.not_a_server_error,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
]


@schemathesis.serializer(PARQUET, "text/csv")
def as_bytes(_context: Any, value: Any) -> bytes:
    """Send a body as it was drawn."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@dataclass
class Seen:
    """Statuses by operation, and answers that do not fit the description."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def cases(self) -> int:
        return sum(self.statuses.values())

    @property
    def server_errors(self) -> int:
        return sum(number for (_, status), number in self.statuses.items() if status >= 500)


def documented(running: Running) -> set[tuple[str, int]]:
    """Return every operation with every status that it may answer with."""
    paths = running.call("GET", "/v1/openapi.json").json()["paths"]
    return {
        (f"{method.upper()} {path}", int(status))
        for path, operations in paths.items()
        for method, operation in operations.items()
        for status in operation["responses"]
    }


def fuzz(running: Running, each: int) -> Seen:
    """Send about `each` requests to every operation, by every kind of caller."""
    seen = Seen()
    base = str(running.client.base_url)
    schema = schemathesis.openapi.from_url(f"{base}/v1/openapi.json")
    participants = [running.token("heart") for _ in range(3)]
    callers = st.sampled_from(
        [running.organiser("heart"), *participants, running.organiser("other"), "cfd_" + "A" * 43, None]
    )
    known = Known(running)
    for found in schema.get_all_operations():
        operation = found.ok()  # type: ignore[union-attr]  # the description is valid, or this raises
        modes = schemathesis.GenerationMode
        for mode in (modes.POSITIVE, modes.NEGATIVE):
            cases = operation.as_strategy(generation_mode=mode)
            with contextlib.suppress(Unsatisfiable):  # nothing of this operation can be wrong
                _send(seen, operation.label, cases, callers, known, max(1, each // 2))
    return seen


@dataclass
class Known:
    """What exists on the server, so that some requests get past the first refusal."""

    running: Running

    def __post_init__(self) -> None:
        contest, token = self.running.contests["heart"], self.running.token("heart")
        self.submissions = [self.running.submit("heart", token, contest.csv(seed)).json()["id"] for seed in (900, 901)]
        self.running.token("heart", name="to be revoked")
        organiser = self.running.organiser("heart")
        listed = self.running.call("GET", "/v1/contests/heart/tokens", organiser).json()["tokens"]
        self.tokens = [one["id"] for one in listed if one["participant"] == "to be revoked"]

    def placed(self, case: Any, data: st.DataObject) -> bool:
        """Put something known in the place of what was drawn, in most cases; return whether anything was."""
        changed = False
        # The state of one contest alone is changed, so that the others stay open.
        contests = ["other"] if case.operation.label.endswith("/state") else ["heart", "heart", "heart", "draft"]
        for name, values in {"contest": contests, "submission": self.submissions, "token": self.tokens}.items():
            if name in (case.path_parameters or {}) and data.draw(st.integers(0, 3)):
                case.path_parameters[name] = data.draw(st.sampled_from(values))
                changed = True
        if case.operation.label.startswith("POST") and case.operation.label.endswith("/submissions"):
            changed |= self._file(case, data)
        return changed

    def _file(self, case: Any, data: st.DataObject) -> bool:
        kind = data.draw(st.sampled_from(["drawn", "good", "cut", "repeated"]))
        if kind == "drawn":
            return False
        content = self.running.contests["heart"].csv(data.draw(st.integers(0, 50)))
        case.body = {"good": content, "cut": content[:-30], "repeated": content + content}[kind]
        case.media_type = data.draw(st.sampled_from(["text/csv", "text/csv", PARQUET]))
        return True


def _send(seen: Seen, label: str, cases: Any, callers: Any, known: Known, number: int) -> None:
    @settings(
        max_examples=number,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def run(data: st.DataObject) -> None:
        case = data.draw(cases)
        changed = known.placed(case, data)
        token = data.draw(callers)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        if case.media_type is not None:
            headers["Content-Type"] = case.media_type
        response = case.call(headers=headers, timeout=300)
        seen.statuses[label, response.status_code] += 1
        try:
            # A request that was wrong before something was changed in it may be right now.
            case.validate_response(response, checks=CHECKS if changed else [*CHECKS, negative_data_rejection])
        except (AssertionError, FailureGroup) as error:
            seen.wrong.append(f"{label}: {str(error)[:600]}")

    run()
