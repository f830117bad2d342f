"""What a coordinator signs, against a server that carries signed jobs and takes them apart."""

from __future__ import annotations

import base64
import json
import shutil
import tracemalloc
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal
from nvflare.apis.workspace import Workspace
from nvflare.lighter.utils import load_private_key_file, sign_content, sign_folders, verify_folder_signature

from confide.errors import FederationError, ParameterError, RefusedError
from confide.federation.flare import executor
from confide.federation.flare.channel import TEXT
from confide.federation.flare.executor import ConfideExecutor, signer
from confide.federation.flare.federation import Federation
from confide.federation.flare.job import COORDINATOR_ROLE, SignedQuestion, read_question, write_job, write_question
from confide.federation.flare.signing import provision
from confide.federation.protocol import ANSWER, OFFER
from confide.federation.question import PROTOCOL, Question
from confide.federation.site.config import SiteConfig, SiteFolder, SiteModel
from confide.federation.site.records import SiteRecords
from tests.federation.joining import join
from tests.federation.site_books import logged

SITES = ("a", "b", "c")
RUN = "5f0d3f06-3d0b-4a3f-9a32-2a3b8a4b3c11"
SIGNATURES = ".__nvfl_sig.json"
QUESTION, OTHER = (
    Question.checked(study="s", model="m", mode="secure-sum", sites=SITES, grid=grid)
    for grid in ("uniform:100", "uniform:50")
)


@dataclass(frozen=True)
class Deployed:
    """A signed run, as it lies at a site."""

    federation: Federation
    kit: Path
    signed: SignedQuestion

    @property
    def app(self) -> Path:
        return Path(self.workspace.get_app_dir(RUN))

    @property
    def workspace(self) -> Workspace:
        return Workspace(str(self.kit), "a")

    @property
    def root(self) -> str:
        return (self.kit / "startup" / "rootCA.pem").read_text()

    def signer(self) -> str | None:
        return signer(self.workspace, RUN, self.signed)

    def verified_by_flare(self) -> bool:
        return bool(verify_folder_signature(str(self.app), str(self.kit / "startup" / "rootCA.pem")))


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Federation:
    return provision(tmp_path_factory.mktemp("signed") / "federation", name="Signed", sites=SITES)


@pytest.fixture
def deployed(federation: Federation, tmp_path: Path) -> Deployed:
    site = SiteFolder(tmp_path / "a")
    join(federation, "a", site)
    SiteRecords(site).begin()
    made = Deployed(federation, site.kit, SignedQuestion.sign(QUESTION, startup_of(federation)))
    shutil.copytree(signed_job(federation, QUESTION, tmp_path / "job") / "app", made.app)
    return made


def startup_of(federation: Federation) -> Path:
    return federation.coordinator_kit / "startup"


def signed_job(federation: Federation, question: Question, folder: Path) -> Path:
    startup = startup_of(federation)
    job = write_job(folder, question, SignedQuestion.sign(question, startup), at=SITES, timeout=60.0)
    sign_folders(str(job), load_private_key_file(str(startup / "client.key")), str(startup / "client.crt"))
    return job


def test_a_run_as_it_was_signed_has_its_coordinator(deployed: Deployed) -> None:
    assert deployed.verified_by_flare()
    assert deployed.signer() == deployed.federation.coordinator
    assert read_question(deployed.signed.question) == QUESTION.to_dict()


def test_what_nobody_signed_is_refused_and_logged(deployed: Deployed) -> None:
    request = json.dumps({"protocol": PROTOCOL, "session": "5" * 32, "question": QUESTION.to_dict()})
    (deployed.app / "config" / "more.json").write_text("{}")
    signed = deployed.signed
    asked = ConfideExecutor(signed.question, signed.signature, signed.certificate, signed.until)
    reply = asked._reply(OFFER, request, deployed.workspace, RUN)
    assert reply["state"] == "refused"
    assert "not signed by one coordinator" in reply["message"]
    last = logged(SiteFolder(deployed.kit.parent))[-1]
    assert (last["state"], last["coordinator"]) == ("refused", None)


def test_many_requests_of_a_server_fill_no_memory(deployed: Deployed) -> None:
    signed = deployed.signed
    executor = ConfideExecutor(signed.question, signed.signature, signed.certificate, signed.until)
    context = SimpleNamespace(get_workspace=lambda: deployed.workspace, get_job_id=lambda: RUN)

    def reply(text: str) -> str:
        request = Shareable()
        request[TEXT] = text
        return str(executor.execute(OFFER, request, context, Signal())[TEXT])

    first = reply("1")
    tracemalloc.start()
    try:
        for number in range(20):
            assert "failed" in reply(f"{number} {10**6 * '!'}")
        assert tracemalloc.get_traced_memory()[0] < 5 * 10**6
    finally:
        tracemalloc.stop()
    folder = SiteFolder(deployed.kit.parent)
    entries = len(logged(folder))
    assert reply("1") == reply("1") == first, "delivered twice, it has the same reply"
    assert len(logged(folder)) == entries + 1


def test_a_renamed_file_is_refused(deployed: Deployed) -> None:
    config = deployed.app / "config"
    signatures = json.loads((config / SIGNATURES).read_text())
    (config / "config_fed_server.json").rename(config / "resources.json")
    signatures["resources.json"] = signatures.pop("config_fed_server.json")
    (config / SIGNATURES).write_text(json.dumps(signatures))
    assert deployed.verified_by_flare()
    assert deployed.signer() is None


def test_a_folder_of_elsewhere_is_refused(deployed: Deployed) -> None:
    config = deployed.app / "config"
    signatures = json.loads((config / SIGNATURES).read_text())
    signatures["config"] = json.loads((deployed.app / SIGNATURES).read_text())["config"]
    (config / SIGNATURES).write_text(json.dumps(signatures))
    shutil.copytree(config, deployed.app / "again")
    shutil.move(deployed.app / "again", config / "config")
    assert deployed.verified_by_flare()
    assert deployed.signer() is None


def test_files_that_are_signed_do_not_make_a_question_signed(deployed: Deployed) -> None:
    """Whatever FLARE signed, as a file or at a login, is no signature of a question."""
    key = load_private_key_file(str(startup_of(deployed.federation) / "client.key"))
    word = write_question(OTHER)
    for forged in (sign_content(word, key), sign_content(base64.b64decode(word), key), deployed.signed.signature):
        other = replace(deployed, signed=replace(deployed.signed, question=word, signature=forged))
        assert other.signer() is None
        with pytest.raises(FederationError, match="the question"):
            other.signed.signer(deployed.root, at=datetime.now(UTC))


@pytest.mark.parametrize("who", ["server", "site"])
def test_servers_and_sites_sign_no_questions(deployed: Deployed, who: str) -> None:
    startup = deployed.kit / "startup"
    if who == "server":
        startup = deployed.federation.server_kit / "startup"
        for end in ("crt", "key"):
            shutil.copyfile(startup / f"server.{end}", deployed.kit / f"client.{end}")
        startup = deployed.kit
    signed = SignedQuestion.sign(QUESTION, startup)
    with pytest.raises(FederationError, match="is not of the role project_admin"):
        signed.signer(deployed.root, at=datetime.now(UTC))
    assert replace(deployed, signed=signed).signer() is None


@pytest.mark.parametrize("who", ["server", "site"])
def test_the_files_of_a_run_are_signed_by_the_coordinator_who_asks(
    deployed: Deployed, tmp_path: Path, who: str
) -> None:
    """A server that cuts a signed question out of a run cannot put it into files of its own."""
    job = write_job(tmp_path / "forged", QUESTION, deployed.signed, at=SITES, timeout=1.0)
    startup, file = (
        (deployed.federation.server_kit / "startup", "server")
        if who == "server"
        else (deployed.kit / "startup", "client")
    )
    sign_folders(str(job), load_private_key_file(str(startup / f"{file}.key")), str(startup / f"{file}.crt"))
    shutil.rmtree(deployed.app)
    shutil.copytree(job / "app", deployed.app)
    assert deployed.verified_by_flare()
    assert deployed.signed.signer(deployed.root, at=datetime.now(UTC)) == deployed.federation.coordinator
    assert deployed.signer() is None


@pytest.mark.parametrize(("verified", "other"), [(True, True), (False, False)])
def test_one_coordinator_signs_files_and_question(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch, verified: bool, other: bool
) -> None:
    """What one coordinator signed does not go with files of another, nor with files whose signatures are not good."""
    coordinator = deployed.federation.coordinator
    signers = [("someone-else@example" if other else coordinator, "org", COORDINATOR_ROLE)]
    monkeypatch.setattr(executor, "verify_folder_signature_and_get_signers", lambda *_: (verified, signers))
    assert deployed.signed.signer(deployed.root, at=datetime.now(UTC)) == coordinator
    assert deployed.signer() is None


def test_a_run_that_a_second_party_signed_a_part_of_is_refused(deployed: Deployed) -> None:
    """The outer folder keeps the coordinator's signature; the settings in it bear that of a site."""
    startup = deployed.kit / "startup"
    sign_folders(
        str(deployed.app / "config"), load_private_key_file(str(startup / "client.key")), str(startup / "client.crt")
    )
    assert deployed.verified_by_flare()
    assert deployed.signer() is None


class TestEnds:
    """A signed question has an end."""

    def test_a_question_is_signed_for_thirty_days_unless_asked_otherwise(self, federation: Federation) -> None:
        now = datetime.now(UTC)
        for days, signed in (
            (30, SignedQuestion.sign(QUESTION, startup_of(federation))),
            (2, SignedQuestion.sign(QUESTION, startup_of(federation), days=2)),
        ):
            assert abs(datetime.fromisoformat(signed.until) - now - timedelta(days=days)) < timedelta(minutes=1)

    @pytest.mark.parametrize("days", [0, -1, 367, 1.5, True])
    def test_other_ends_are_refused_before_anything_is_signed(self, federation: Federation, days: int) -> None:
        with pytest.raises(ParameterError, match="`valid_days` must be a whole number from 1 to 366"):
            SignedQuestion.sign(QUESTION, startup_of(federation), days=days)

    @pytest.mark.parametrize(("late", "refused"), [(-1, None), (59 * 60, None), (61 * 60, "and that is over")])
    def test_clocks_may_differ_by_an_hour(self, deployed: Deployed, late: int, refused: str | None) -> None:
        at = datetime.fromisoformat(deployed.signed.until) + timedelta(seconds=late)
        with pytest.raises(RefusedError, match=refused) if refused else nullcontext():
            deployed.signed.check_end(at=at)

    def test_nobody_else_can_move_the_end(self, deployed: Deployed) -> None:
        later = (datetime.now(UTC) + timedelta(days=100)).isoformat(timespec="seconds")
        with pytest.raises(FederationError, match="the question"):
            replace(deployed.signed, until=later).signer(deployed.root, at=datetime.now(UTC))
        assert replace(deployed, signed=replace(deployed.signed, until=later)).signer() is None

    @pytest.mark.few(2)
    @pytest.mark.parametrize(
        ("until", "refused"),
        [
            ("2026-01-31T12:00:00+00:00", "until 2026-01-31 12:00 UTC, and that is over; ask it again"),
            ("", "signed without an end; ask it again"),
            ("2026-01-31T12:00:00", "signed without an end; ask it again"),
            ("2999-01-31T12:00:00+00:00", "signed for more than 366 days; ask it again"),
        ],
    )
    @pytest.mark.parametrize("topic", [OFFER, ANSWER])
    def test_a_site_refuses_and_logs_it_in_every_round(
        self, deployed: Deployed, monkeypatch: pytest.MonkeyPatch, until: str, refused: str, topic: str
    ) -> None:
        monkeypatch.setattr("confide.federation.flare.executor.signer", lambda *given: "coordinator")
        signed = deployed.signed
        executor = ConfideExecutor(signed.question, signed.signature, signed.certificate, until)
        request = json.dumps({"protocol": PROTOCOL, "session": "5" * 32, "question": QUESTION.to_dict()})
        reply = executor._reply(topic, request, deployed.workspace, RUN)
        assert reply["state"] == "refused"
        assert refused in reply["message"]
        last = logged(SiteFolder(deployed.kit.parent))[-1]
        assert (last["state"], last["message"]) == ("refused", reply["message"])


def test_a_coordinator_of_another_federation_is_nobody(deployed: Deployed, tmp_path: Path) -> None:
    other = provision(tmp_path / "other", name="Other", sites=SITES)
    signed = SignedQuestion.sign(QUESTION, startup_of(other))
    with pytest.raises(FederationError, match="was not issued by this federation's root"):
        signed.signer(deployed.root, at=datetime.now(UTC))


@pytest.mark.parametrize("damage", [{"signature": "?"}, {"certificate": "no PEM"}, {"certificate": ""}])
def test_damaged_signatures_are_refused(deployed: Deployed, damage: dict[str, str]) -> None:
    assert replace(deployed, signed=replace(deployed.signed, **damage)).signer() is None


@pytest.mark.few(1)
@pytest.mark.parametrize(("kernel", "required", "refused"), [(-1, True, True), (-1, False, False), (1, True, False)])
def test_a_site_that_requires_confinement_answers_nothing_without(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch, kernel: int, required: bool, refused: bool
) -> None:
    monkeypatch.setattr("confide.federation.flare.confinement._landlock", lambda: kernel)
    place = SiteFolder(deployed.kit.parent)
    SiteConfig(name="a", models={"m": SiteModel(data="x.csv", label="y", score="s")}).write(place.path)
    place.policy.write_text(f"require_confinement = {str(required).lower()}\n")
    signed = deployed.signed
    executor = ConfideExecutor(signed.question, signed.signature, signed.certificate, signed.until)
    request = json.dumps({"protocol": PROTOCOL, "session": "5" * 32, "question": QUESTION.to_dict()})
    reply = executor._reply(OFFER, request, deployed.workspace, RUN)
    assert reply["state"] == "refused"
    assert ("only where its engine is confined" in reply["message"]) == refused
