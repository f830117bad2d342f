"""What round 1 must not tell: offers are free, and may be repeated with other terms as often as anybody likes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from confide.errors import ParameterError
from confide.federation.protocol import ANSWER, OFFER, Message, RunError
from confide.federation.question import PROTOCOL, Question
from confide.federation.site.config import SiteModel
from confide.federation.site.site import Site
from tests.federation.network import MODEL, Network
from tests.federation.site_books import execute, problems

SIZES = {"east": 90, "north": 60, "south": 75}
POLICY = "minimum_cell = 1\n"
TERMS: Mapping[str, Mapping[str, Any]] = {"private": {"epsilon": "1/4"}}
EXACT = ("disclosure-control", "secure-sum")
"""Of noisy-scores the first offer is the answer, so there is nothing to repeat."""

OWN_FILES = "the site's own files cannot be used; its administrator finds the reason with `confide site verify`"


@pytest.fixture
def network(tmp_path: Path) -> Network:
    return Network.build(tmp_path, SIZES, POLICY)


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """Sites that many tests ask the same of."""
    return Network.build(tmp_path_factory.mktemp("standing"), SIZES, POLICY)


def asked(network: Network, mode: str, **terms: Any) -> Question:
    return network.question(mode, **{**TERMS.get(mode, {}), **terms})


def offer(site: Site, question: Question | Mapping[str, Any]) -> dict[str, Any]:
    """What a site replies in round 1."""
    plain = question.to_dict() if isinstance(question, Question) else question
    return site.reply(OFFER, {"protocol": PROTOCOL, "session": "5" * 32, "question": plain})


def told(site: Site, question: Question) -> tuple[str, str | None]:
    """All that the reply to an offer tells, but for what is drawn anew each time."""
    reply = offer(site, question)
    return reply["state"], reply.get("message")


def write_rows(site: Site, labels: Any, scores: Any, name: str = "rows.csv") -> None:
    lines = "".join(f"{label},{score!r}\n" for label, score in zip(labels, map(float, scores), strict=True))
    (site.folder.path / name).write_text(f"outcome,risk\n{lines}")


def give_models(site: Site, **files: str) -> None:
    models = {name: SiteModel(data=file, label="outcome", score="risk") for name, file in files.items()}
    site.config = replace(site.config, models=models)


def classes(positives: int, negatives: int) -> list[int]:
    return [1] * positives + [0] * negatives


@pytest.mark.parametrize("mode", EXACT)
def test_a_grid_that_ends_inside_the_range_is_refused_whatever_the_data(network: Network, mode: str) -> None:
    """Else halving a grid's end would find the highest score."""
    east, heard = network.sites["east"], set()
    for highest in (0.1, 0.5, 1.0):
        write_rows(east, classes(40, 50), np.linspace(0.0, highest, 90))
        heard |= {told(east, asked(network, mode, grid=grid)) for grid in ("edges:0,0.5", "edges:0.2,1")}
        assert told(east, asked(network, mode, grid="edges:0,0.5,1")) == ("answered", None)
    assert heard == {
        (
            "refused",
            "scores of model 'risk' lie between 0 and 1 at this site, and the grid does not hold all of that; ask with "
            "a `grid` that does",
        )
    }


@pytest.mark.parametrize("mode", [*EXACT, "private"])
def test_scores_beyond_the_range_count_at_its_ends_and_nobody_is_told(network: Network, mode: str) -> None:
    east = network.sites["east"]
    inside = np.linspace(0.0, 1.0, 90)
    outside = inside.copy()
    outside[:4], outside[-3:] = -7.0, 41.5
    inside[:4], inside[-3:] = 0.0, 1.0
    write_rows(east, classes(40, 50), inside)
    expected, counts = told(east, asked(network, mode)), east.config.counts(MODEL)
    write_rows(east, classes(40, 50), outside)
    assert told(east, asked(network, mode)) == expected == ("answered", None)
    assert east.config.counts(MODEL) == counts


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", EXACT)
def test_no_minimum_cell_tells_how_large_a_class_is(network: Network, mode: str) -> None:
    """Sites with 36 and with 360 positives say the same to every minimum; one with four says that it has too few."""
    east, heard = network.sites["east"], []
    for positives in (36, 360):
        write_rows(east, classes(positives, 400), np.linspace(0.0, 1.0, positives + 400))
        heard.append([told(east, asked(network, mode, minimum_cell=least)) for least in (1, 5, 6, 36, 37, 10_000)])
    assert heard[0] == heard[1]
    assert [state for state, _ in heard[0]] == ["answered"] * 2 + ["refused"] * 4
    assert all("ask with `minimum_cell=5` or less" in str(message) for _, message in heard[0][2:])
    write_rows(east, classes(4, 82), np.linspace(0.0, 1.0, 86))
    refused = {told(east, asked(network, mode, minimum_cell=least)) for least in (1, 4, 5)}
    assert [(state, "too few rows of a class" in str(message)) for state, message in refused] == [("refused", True)]


def second_model(network: Network, twin: str) -> None:
    """Another model at every site, that scores all rows as the first does, or all but one."""
    for name, site in network.sites.items():
        labels, scores = network.rows[name]
        other = scores.copy()
        other[7] = scores[7] if twin == "equal" else 1.0 - scores[7]
        assert (other == scores).all() == (twin == "equal")
        write_rows(site, labels.tolist(), other, "other.csv")
        give_models(site, **{MODEL: "rows.csv", "other": "other.csv"})


def test_a_private_answer_costs_the_same_whether_models_differ_or_not(tmp_path: Path) -> None:
    receipts, fields = [], []
    for twin in ("equal", "one row"):
        network = Network.build(tmp_path / twin, SIZES)
        second_model(network, twin)
        outcomes = [network.run(asked(network, "private", model=model)) for model in (MODEL, "other")]
        receipts.append([[report.receipt for report in outcome.reports] for outcome in outcomes])
        fields.append([(len(str(outcome.question)), list(outcome.sites), outcome.reports) for outcome in outcomes])
        assert outcomes[0].total != outcomes[1].total  # equal by chance: below 1 in 10^9
        assert outcomes[0].sites["east"] != outcomes[1].sites["east"]
    assert receipts[0] == receipts[1]
    assert fields[0] == fields[1]
    assert [[one and one["charged"]["epsilon"] for one in each] for each in receipts[0]] == [[0.25] * 3] * 2
    assert not any(one and one["reused"] for each in receipts[0] for one in each)


@pytest.mark.few(1)
@pytest.mark.parametrize("mode", EXACT)
def test_a_second_model_is_answered_alike_whether_it_differs_or_not(tmp_path: Path, mode: str) -> None:
    heard = []
    for twin in ("equal", "one row"):
        network = Network.build(tmp_path / twin, SIZES, POLICY)
        second_model(network, twin)
        network.run(asked(network, mode))
        heard.append([told(site, asked(network, mode, model="other")) for site in network.sites.values()])
        again = network.run(asked(network, mode, model="other"))
        assert [report.state for report in again.reports] == ["answered"] * 3
    assert heard == [[("answered", None)] * 3] * 2


class Failing:
    """A model that scores rows by their one feature, and one person with something that is no number."""

    classes_ = (0, 1)

    def __init__(self, score: float) -> None:
        self.score = score

    def predict_proba(self, rows: Any) -> Any:
        scores = np.where(rows[:, 0] == 0.625, self.score, rows[:, 0])
        return np.stack([1.0 - scores, scores], axis=1)


def run_here(site: Site, file: str) -> None:
    model = SiteModel(data="rows.csv", label="outcome", features=("risk",), model_file=file)
    site.config = replace(site.config, models={MODEL: model})


@pytest.mark.few(1)
@pytest.mark.parametrize(("score", "counted"), [(np.nan, 0.0), (np.inf, 1.0), (-np.inf, 0.0)])
def test_a_model_that_fails_for_one_person_does_not_tell_that_he_is_there(
    network: Network, score: float, counted: float
) -> None:
    east = network.sites["east"]
    joblib.dump(Failing(score), east.folder.path / "model.joblib")
    run_here(east, "model.joblib")
    heard = set()
    for person in (0.625, 0.375):
        write_rows(east, classes(40, 50), [person, *np.linspace(0.1, 0.9, 88), 0.875])
        heard |= {told(east, asked(network, mode)) for mode in ("private", "disclosure-control", "secure-sum")}
        found = east.config.counts(MODEL)
        assert found.total_positives + found.total_negatives == 90
        assert (counted in found.scores) == (person == 0.625)
    assert heard == {("answered", None)}


def test_an_onnx_model_that_gives_no_number_for_one_person(network: Network) -> None:
    """The model is a logarithm: of 0 it is minus infinity, of -1 no number."""
    from onnx import TensorProto, helper, save

    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1]) for name in ("risk", "probability")]
    graph = helper.make_graph([helper.make_node("Log", ["risk"], ["probability"])], "log", value[:1], value[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    east = network.sites["east"]
    save(model, str(east.folder.path / "model.onnx"))
    run_here(east, "model.onnx")
    for odd in (0.0, -1.0):
        write_rows(east, classes(40, 50), [odd, *np.linspace(1.1, 2.7, 89)])
        for mode in ("private", "disclosure-control", "secure-sum"):
            assert told(east, asked(network, mode)) == ("answered", None)
        assert east.config.counts(MODEL).scores[0] == 0.0


@pytest.mark.parametrize("mode", ["secure-sum", "private"])
@pytest.mark.parametrize(
    "grid",
    [
        "uniform:+1000000000",
        "arcsine: 100000000",
        "uniform:1_000_000_0",
        "uniform:99999999999999999999",
        "uniform:٩٩٩٩٩٩٩",
        "uniform:9999999:0:1",
        "edges:" + "0.5," * 50_000,
        "edges:0," + "\n" * 90_000 + "0.5,1",  # they would push what is asked off the screen of whoever approves
        "edges:0,\u2028 0.5,1",
        "edges:0,٠.٥,1",
    ],
)
def test_grids_that_would_fill_memory_or_screen_are_refused_at_once(standing: Network, mode: str, grid: str) -> None:
    good = asked(standing, mode)
    started = time.process_time()  # whatever else the machine does
    with pytest.raises(ParameterError, match="`grid` must look like"):
        asked(standing, mode, grid=grid)
    reply = offer(standing.sites["east"], {**good.to_dict(), "grid": grid})
    assert time.process_time() - started < 1.0
    assert reply["state"] == "failed"
    assert "`grid` must look like" in reply["message"]


FIELDS = {
    OFFER: (
        "offer",
        ("site", "session", "question", "public_key", "own_key", "certificate", "signature", "own_signature"),
    ),
    ANSWER: ("masked", ("site", "agreement", "shape", "payload", "signature")),
}


@pytest.mark.few(4)
@pytest.mark.parametrize(("topic", "field"), [(topic, name) for topic, (_, names) in FIELDS.items() for name in names])
def test_half_a_character_in_what_a_site_sends_ends_the_run_by_its_name(
    standing: Network, topic: str, field: str
) -> None:
    part = FIELDS[topic][0]

    def broken(asked_for: str, request: Message) -> Message:
        reply = standing.sites["north"].reply(asked_for, request)
        if asked_for != topic:
            return reply
        return {**reply, part: {**reply[part], field: "\ud800"}}

    with pytest.raises(RunError, match="north: failed") as caught:
        standing.run(standing.question("secure-sum", grid="uniform:200"), replaced={"north": broken})
    assert [report.name for report in caught.value.reports if report.state == "failed"] == ["north"]
    str(caught.value).encode()


@pytest.mark.parametrize("topic", [OFFER, ANSWER])
@pytest.mark.parametrize("state", ["refused", "failed"])
def test_what_a_site_says_cannot_steer_a_terminal(standing: Network, topic: str, state: str) -> None:
    said = "no \x1b[2J\x1b]0;title\x07 to \u202egnol\u202c\ud800\x9b31m\r\nlast"

    def rude(asked_for: str, request: Message) -> Message:
        reply = standing.sites["north"].reply(asked_for, request)
        return {"site": "north", "protocol": PROTOCOL, "state": state, "message": said} if asked_for == topic else reply

    with pytest.raises(RunError, match=f"north: {state}") as caught:
        standing.run(standing.question("secure-sum", grid="uniform:200"), replaced={"north": rude})
    (report,) = [report for report in caught.value.reports if report.name == "north"]
    for text in (report.message, report.in_words(), str(caught.value)):
        assert text.isprintable()
    assert report.message.startswith("no ·[2J·]0;title· to ·gnol")
    assert report.message.endswith("31m last")


def readable_key(site: Site) -> str:
    site.folder.database.with_name("site.db.key").chmod(0o644)
    return "chmod 600"


def damaged_records(site: Site) -> str:
    site.folder.database.write_bytes(b"these are no records" * 400)
    return "the file is empty, damaged or no records"


def forged_register(site: Site) -> str:
    execute(site.folder, "UPDATE confide_entries SET text = replace(text, '1', '2') WHERE chain = 'register'")
    return "entry 1 is missing, out of place or changed"


def forged_account(site: Site) -> str:
    execute(site.folder, "DELETE FROM confide_heads WHERE chain LIKE 'account:%'")
    return "a chain was removed from the site's records"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "damage", [readable_key, damaged_records, forged_register, forged_account], ids=lambda f: f.__name__
)
def test_what_is_wrong_with_the_sites_own_files_is_for_its_administrator(network: Network, damage: Any) -> None:
    network.run(asked(network, "private"))
    east = network.sites["east"]
    problem = damage(east)
    with pytest.raises(RunError, match="east: failed") as caught:
        network.run(asked(network, "private"))
    (report,) = [report for report in caught.value.reports if report.name == "east"]
    assert report.message == OWN_FILES
    assert str(east.folder.path) not in str(caught.value)
    assert any(problem in found for found in problems(east.folder))


def test_a_policy_that_is_edited_in_mid_run_counts_from_the_next_run(network: Network) -> None:
    east = network.sites["east"]

    def edited(topic: str, request: Message) -> Message:
        reply = east.reply(topic, request)
        east.folder.policy.write_text("epsilon_per_stduy = 3\n")
        return reply

    network.run(asked(network, "private"), replaced={"east": edited})
    with pytest.raises(ParameterError, match="epsilon_per_stduy"):
        network.reopened()
