"""A federation and its sites on terminals: state, notes, held questions and failed validations."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.federation.crypto.identity import readable_fingerprint
from confide.federation.flare.confinement import UNCONFINED
from confide.federation.modes.registry import MODES, mode_of
from confide.federation.private_noise import noise_of
from confide.federation.question_terms import edition_words
from confide.federation.site.approvals import Decision
from confide.federation.site.checks import FEATURE_ADVICE
from confide.federation.site_state import RefusalReason, SiteState
from confide.privacy.guarantee import shown, three_digits
from confide.report.numbers import plain
from confide.report.validation.plan import guarantee_sentences, plan_tables, print_word_table, print_words, word_table
from confide.report.writers.html import bullets, html_table
from confide.report.writers.terminal import Table

if TYPE_CHECKING:
    from rich.console import Console

    from confide.errors import NotComparedError
    from confide.federation.flare.federation import Federation
    from confide.federation.flare.signing import Signed
    from confide.federation.policy import Policy
    from confide.federation.protocol import RunError, SiteReport
    from confide.federation.question import Question
    from confide.federation.site.accounts import SiteBudget
    from confide.federation.site.answers import RuledOut
    from confide.federation.site.approvals import HeldQuestion
    from confide.federation.site.checks import DataCheck, StartCheck
    from confide.federation.site.config import SiteModel
    from confide.tasks.federation import FederationStatus
    from confide.tasks.site import NewRequest
    from confide.tasks.site_status import PendingQuestions, SiteStatus
    from confide.tasks.validate import ValidationPlan


SCHEMA = "confide.validation-failure/1"


def print_failure(error: RunError, console: Console, *, words: Callable[[str], str] = str) -> None:
    """Print how each site took part, and its message; `words` turns parameters in messages into flags."""
    body = [(report.name, state_words(report, error), words(report.message) or "–") for report in error.reports]
    print_words("Reply of each site", ("site", "state", "message"), body, console)


def failure_document(error: RunError, question: Question) -> dict[str, Any]:
    """Return plain data in the published schema."""
    return {
        "schema": SCHEMA,
        "question": question.to_dict(),
        "sites": [report.to_dict() for report in error.reports],
        "error": error.summary,
        "exit_code": error.exit_code,
    }


def state_words(report: SiteReport, error: RunError) -> str:
    """Return the state of a site after a failed run, in which no answer came to a result."""
    if report.state is not SiteState.ANSWERED:
        return report.state
    return "was ready" if error.rounds < 2 else "did its part"


_NO_REQUEST = "no request signed yet"


def print_new_federation(federation: Federation, console: Console) -> None:
    """Print a new federation, its sites, and the fingerprint of its root."""
    from confide.federation.crypto.identity import root_fingerprint

    title = f"Federation {federation.name}: server {federation.server}, port {federation.port}"
    print_words(title, ("site", "state"), [(site, _NO_REQUEST) for site in federation.sites], console)
    _print_root(root_fingerprint(federation.root), console)


def _print_root(fingerprint: str, console: Console) -> None:
    console.print("Fingerprint of the root (SHA-256), for sites to compare by telephone:", highlight=False)
    console.print(f"  {readable_fingerprint(fingerprint)}", highlight=False, soft_wrap=True)


def print_federation(status: FederationStatus, console: Console) -> None:
    """Print whether the server runs, which sites are connected, and until when certificates are valid."""
    from confide.federation.crypto.identity import root_fingerprint

    federation = status.federation
    state = "running" if status.running else "not running"
    title = f"Federation {federation.name}, server at {federation.server}, port {federation.port}: {state}"
    print_words(title, ("site", "state"), [(site, _state(status, site)) for site in federation.sites], console)
    ends = [(name, dates.in_words(), _own_key(status, name)) for name, dates in status.certificates.items()]
    print_words("Certificates", ("of", "valid until", "fingerprint of its own key"), ends, console)
    _print_root(root_fingerprint(federation.root), console)


def signed_lines(signed: Signed) -> tuple[str, ...]:
    """Return the site that was signed for, and its fingerprint."""
    how = "known from an earlier request" if signed.known else "compared by you"
    return (
        f"signed for site {signed.site}, fingerprint {how}:",
        f"  {readable_fingerprint(signed.fingerprint)}",
    )


def unsigned_lines(unsigned: NotComparedError) -> Iterator[str]:
    """Yield the fingerprint of a request that was not signed, and whether the site had another one before."""
    yield f"Not signed yet. Fingerprint of site {unsigned.site} (SHA-256):"
    yield f"  {readable_fingerprint(unsigned.fingerprint)}"
    if unsigned.known is not None:
        yield "It is not the one that was signed for before. Ask the site whether it was set up anew. Before, it was:"
        yield f"  {readable_fingerprint(unsigned.known)}"


def certificate_notes(status: FederationStatus, folder: Path) -> Iterator[str]:
    """Yield a warning if certificates end soon."""
    ending = [f"{name} ({dates.in_words()})" for name, dates in status.certificates.items() if dates.ends_soon]
    if ending:
        yield f"warning: certificates end soon: {'; '.join(ending)}. Renew them: confide federation renew {folder}"


def _own_key(status: FederationStatus, name: str) -> str:
    return readable_fingerprint(status.fingerprints[name]) if name in status.fingerprints else ""


def _state(status: FederationStatus, site: str) -> str:
    if site not in status.certificates:
        return _NO_REQUEST
    if status.connected is None:
        return "unknown"
    return "connected" if site in status.connected else "not connected"


SLOW_SECONDS = 20.0
"""A third of the time that a round has by default; slower reading or comparing is worth a note."""


def data_notes(check: DataCheck) -> Iterator[str]:
    """Yield notes about a model's rows. They are for the administrator, who has the rows."""
    if check.unscored:
        yield f"note: {check.unscored}. If it should have scores for them, {FEATURE_ADVICE}"
    if check.seconds > SLOW_SECONDS:
        yield (
            f"note: reading and scoring took {check.seconds:.0f} seconds, as each distinct row is scored by itself. "
            "Tell the coordinator, whose first round needs that time "
            f"(--timeout {_whole_minutes(3 * check.seconds)})"
        )
    if check.beyond_range:
        low, high = check.score_range
        yield (
            f"note: not all scores lie between {low:g} and {high:g}; a score beyond an end counts as that end. If the "
            "model can give others, say so at every site (--range -4,4; here with `confide site add-model --replace`), "
            "and tell the coordinator, whose question needs cells for all of them (--grid uniform:100:-4:4)"
        )
    if check.small_class:
        yield (
            "note: a class has fewer rows than smallest_class in the policy, so in modes without noise this site will "
            "not take part. Check that --label and --positive are right"
        )


def mode_notes(policy: Policy) -> Iterator[str]:
    """Yield in which modes a new site answers: with noise, without, or in one that is for comparison only."""
    allowed = [MODES[name] for name in policy.modes]
    noisy = ", ".join(mode.name for mode in allowed if mode.private)
    exact = ", ".join(mode.name for mode in allowed if not mode.private and not mode.comparison_only)
    other = ", ".join(mode.name for mode in allowed if mode.comparison_only)
    if not allowed:
        yield "This site answers in no mode: name some at modes in policy.toml."
    elif noisy and not exact and not other:
        yield f"This site answers with noise only ({noisy})."
    if exact:
        yield f"This site {'also ' if noisy else ''}answers without noise ({exact}), at no budget."
    if other:
        yield f"It answers in a mode for comparisons that promises nothing ({other}), at no budget."
    if exact or other:
        yield 'For answers with noise only, set modes = ["private"] in policy.toml.'


def start_notes(check: StartCheck) -> Iterator[str]:
    """Yield a note if comparing the rows of a site's models took long."""
    if check.seconds is not None and check.seconds > SLOW_SECONDS:
        yield (
            f"note: comparing the rows of all models took {check.seconds:.0f} seconds. A site that allows the mode "
            "private alone starts without it (modes in policy.toml)"
        )


def engine_cautions(
    folder: Path, *, as_root: bool, wide_folders: Iterable[Path] = (), confined: bool = True
) -> Iterator[str]:
    """Yield cautions about the rights of an engine that was started."""
    if not confined:
        yield unconfined_caution()
    if as_root:
        yield (
            f"caution: the engine runs as root, since {folder} belongs to root; give the folder to a user of its own, "
            "and root starts it as that user"
        )
    for place in wide_folders:
        yield (
            f"caution: data or models lie directly in {place}, so the engine may read everything in it; move them to a "
            "folder of their own, and set the model up again with `confide site add-model --replace`"
        )


def unconfined_caution() -> str:
    """Return the caution about a kernel that cannot confine a site's engine."""
    return f"caution: {UNCONFINED}. With require_confinement = true in policy.toml the site does not start here"


def unknown_host_note(server: str) -> str:
    """Return the note about a server whose name means no machine here; it starts under any name."""
    return (
        f"note: no machine called {server!r} is known here. Sites, and `confide validate`, find the server by that "
        "name only"
    )


def _whole_minutes(seconds: float) -> int:
    """Round seconds up to whole minutes."""
    return 60 * math.ceil(seconds / 60)


_RULES: Mapping[str, str] = {
    "modes": "allowed modes",
    "minimum_cell": "disclosure-control: least people in a group",
    "secure_sum_minimum_cell": "secure-sum: least people in a group",
    "smallest_class": "without noise: least rows of each class",
    "most_cells": "without noise: most cells of scores",
    "epsilon_per_study": "private: most epsilon of a study",
    "epsilon_in_all": "private: most epsilon in all",
    "noise": "private: noise of answers",
    "composition": "private: how prices add up",
    "delta_in_all": "private: most delta in all",
    "least_colluders": "private: least colluders to withstand",
    "fewest_sites": "sums: fewest sites",
    "rows_per_person": "most rows of a person",
    "studies": "studies",
    "coordinators": "coordinators",
    "peers": "sums: sites with pinned keys",
    "approval": "approval of each question",
    "require_confinement": "only with a confined engine",
    "allowance": "private: most epsilon in a period",
}


def request_lines(request: NewRequest) -> tuple[str, ...]:
    """Return the file of a site's request, and the fingerprint to be compared."""
    what = f"Request of site {request.site}"
    if request.federation is not None:
        what = f"Request for a new key of site {request.site}, which is a site of federation {request.federation}"
    return (
        f"{what}: {request.file}",
        "Fingerprint of the site's own key (SHA-256), to read out to the coordinator:",
        f"  {readable_fingerprint(request.fingerprint)}",
    )


def print_new_site(status: SiteStatus, console: Console) -> None:
    """Print the site's name, federation, fingerprint and models."""
    for line in site_lines(status):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    console.print()
    print_word_table(_models(status), console)


def print_site(status: SiteStatus, console: Console) -> None:
    """Print everything that is known of a site."""
    print_new_site(status, console)
    for table in site_tables(status)[1:]:
        print_word_table(table, console)


def site_lines(status: SiteStatus) -> tuple[str, ...]:
    """Return the site's name, federation and fingerprint, a line each."""
    state = f"running (process {status.pid})" if status.running else "not running"
    return (
        f"Site {status.name} in {status.folder}: {state}",
        f"Federation {status.federation}, server {status.server}, port {status.port}: {_connection(status)}",
        f"Certificate: valid until {status.certificate.in_words()}",
        "Fingerprint of its own key (SHA-256), for other sites to pin:",
        f"  {readable_fingerprint(status.fingerprint)}",
        "Fingerprint of the federation's root (SHA-256), to compare with the coordinator's:",
        f"  {readable_fingerprint(status.root)}",
    )


def status_notes(status: SiteStatus) -> Iterator[str]:
    """Yield what the administrator must do: decide on questions, renew the certificate, look into changed logs."""
    if status.waiting:
        many = f"{status.waiting} question{'s wait' if status.waiting > 1 else ' waits'}"
        yield f"{many} for a decision: confide site pending {status.folder}"
    if not status.can_confine:
        yield unconfined_caution()
    if status.certificate.ends_soon:
        yield (
            f"warning: the certificate of this site ends soon ({status.certificate.in_words()}). Ask the coordinator "
            f"for a new kit, and renew it: confide site renew {status.folder} KIT.zip"
        )
    for problem in status.log_problems:
        yield f"warning: {problem}. Check all records: confide site verify {status.folder}"


def place_of_logs(status: SiteStatus) -> str:
    """Return the logs of a site's engine."""
    return f"{status.folder / 'run' / 'engine.txt'} and {status.folder / 'kit' / 'log.txt'}"


def site_tables(status: SiteStatus) -> list[Table]:
    """Return models, policy, budget and the last requests."""
    rules = [(_RULES.get(rule, rule), _value(rule, value)) for rule, value in status.policy.to_dict().items()]
    tables = [_models(status), word_table("Policy (policy.toml)", ("rule", "value"), rules)]
    if status.budget is not None:
        head, note = ("", "spent", "left", "limit"), _count_words(status.budget)
        tables.append(word_table("Privacy budget (epsilon)", head, _budget(status.budget), note=note))
    if status.requests:
        tables.append(word_table("Last requests", ("when", "request", "result"), map(_request, status.requests)))
    return tables


def _models(status: SiteStatus) -> Table:
    models = [
        (name, _described(status, name, model), "yes" if name in status.answered_exactly else "no")
        for name, model in status.models.items()
    ]
    return word_table("Models", ("model", "rows and scores", "answered without noise"), models)


def _connection(status: SiteStatus) -> str:
    if status.connected:
        return "connected"
    return "not connected; the site keeps trying" if status.running else "not connected"


def _described(status: SiteStatus, name: str, model: SiteModel) -> str:
    """Return where a model's rows are, and how they are scored."""
    if name in status.same_as:
        return f"the same as {status.same_as[name]}"
    scored = f"score {model.score}" if model.score is not None else f"scored by {model.model_file}"
    positive = f" ({model.positive} is positive)" if model.positive is not None else ""
    query = "" if model.query is None else f", query {model.query} (SHA-256 {str(model.query_sha256)[:12]}...)"
    return f"{model.data}{query}: label {model.label}{positive}, {scored}"


def _value(rule: str, value: object) -> str:
    if value is None:
        return "none" if rule in ("peers", "allowance") else "any"
    if rule == "allowance" and isinstance(value, Mapping):
        return f"{value['epsilon']} a {value['period']}"
    if isinstance(value, Mapping):
        return ", ".join(value)
    if isinstance(value, list):
        return ", ".join(str(one) for one in value) or "none"
    return str(value)


def _budget(budget: SiteBudget) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = [("all studies", *_amounts(budget.spent, budget.remaining, budget.cap))]
    if budget.total.rho:
        rho, delta = (f"{float(amount):.4g}" for amount in (budget.total.rho, budget.total.delta))
        lines.append((f"that is rho {rho} in all, converted at delta {delta}", "", "", ""))
    for study, one in budget.studies.items():
        name = f"study {study}" if one.listed else f"study {study}, not in the policy"
        lines.append((name, *_amounts(one.spent.epsilon, one.remaining, one.cap)))
    return lines


def _amounts(spent: Fraction, left: Fraction, limit: Fraction) -> tuple[str, str, str]:
    return three_digits(spent), three_digits(left, down=True), shown(limit)


def _count_words(budget: SiteBudget) -> str:
    """Return how the epsilon of a study is counted."""
    both = "A study has left what its own limit and that of all studies leave."
    if not budget.concentrated:
        return f"The epsilons of a study's questions add up. {both}"
    return (
        "A study is counted by its own answers alone, and all studies by the rho of all answers together: the lines do "
        f"not add up. {both}"
    )


def _request(line: Mapping[str, Any]) -> tuple[str, str, str]:
    when = str(line.get("at", "")).removesuffix("+00:00").replace("T", " ")
    terms = [str(line[key]) for key in ("study", "model", "mode") if line.get(key)]
    who = f"{', '.join(terms) or 'an answer'} (round {line.get('round') or '?'}), by {line.get('coordinator') or '?'}"
    state, message = str(line.get("state")), str(line.get("message"))
    said = message if state == SiteState.ANSWERED else f"{state}: {message}"
    return plain(when), plain(who), plain(said)


_WIDTH = 110
_NAME = 17


def pending_lines(pending: PendingQuestions, *, width: int = _WIDTH) -> Iterator[str]:
    """Yield all held questions in plain words, in lines of at most `width` characters."""
    if not pending.manual:
        yield from textwrap.wrap(
            'The policy says approval = "automatic": questions that its rules allow are answered without a person.',
            width,
        )
    if not pending.questions:
        yield "No question waits for a decision."
    for held in pending.questions:
        yield f"Question {held.number}, {held.decision}"
        for name, value in _fields(held, pending.budget, pending.ruled_out.get(held.id)):
            yield from _wrapped(f"  {name + ':' if name else '':<{_NAME}} ", value, width)
        for sentence in guarantee_sentences(held.question):
            yield from _wrapped("  - ", sentence, width)
        if held.decision is not Decision.WAITING:
            yield from _wrapped(f"  {'decided:':<{_NAME}} ", _decided(held), width)
        yield ""


def decision_line(held: HeldQuestion) -> str:
    """Return what was decided on a question."""
    question = held.question
    what = f"{question.model}, mode {question.mode}, study {question.study}"
    return f"{held.decision} question {held.number} ({what})"


def _fields(held: HeldQuestion, budget: SiteBudget | None, out: RuledOut | None) -> Iterator[tuple[str, str]]:
    """Yield who asks for what, for whom and at which price, each a name and a value."""
    question, mode = held.question, mode_of(held.question)
    yield "who asks", f"{held.coordinator or 'unknown'}, first on {held.asked_at.replace('+00:00', ' UTC')}"
    yield "purpose", question.purpose or "none was stated"
    yield "study, model", f"{question.study}, {question.model}"
    if question.edition is not None:
        yield "edition", edition_words(question.edition)
    yield "what would leave", mode.released(question)
    yield "", f"scores in {len(question.public_grid):,} cells ({question.grid})"
    yield "sites", f"{', '.join(question.sites)}; at least {question.least_sites} take part"
    yield "price", _price(question)
    if mode.private and budget is not None:
        yield "left", _left(question, budget)
    if out is not None:
        paid = out.reason is RefusalReason.BUDGET
        yield "caution", f"{'CANNOT BE PAID' if paid else 'WOULD BE REFUSED'} as the policy is: {out.message}"
    yield from mode.described_terms(question)


def _price(question: Question) -> str:
    if mode_of(question).price(question) is None:
        return "none: this mode has no noise, and the site answers no other question about the model without noise then"
    return f"{noise_of(question).price_words()}, unless the same question was paid for before"


def _left(question: Question, budget: SiteBudget) -> str:
    """Return what is left to the study and in all studies; the policy and the ledger alone decide it."""
    every = f"{three_digits(budget.remaining, down=True)} of {shown(budget.cap)} in all studies"
    study = budget.studies.get(question.study)
    if study is None:
        return f"epsilon {every}"
    return f"epsilon {three_digits(study.remaining, down=True)} of {shown(study.cap)} in this study, {every}"


def _decided(held: HeldQuestion) -> str:
    return f"{held.decision} by {held.by}, {held.decided_at}" + (f": {held.why}" if held.why else "")


def _wrapped(begin: str, text: str, width: int) -> list[str]:
    """Break a text into lines; all but the first are indented by the width of its beginning."""
    indent = " " * len(begin)
    return textwrap.wrap(
        text, max(width, len(begin) + 20), initial_indent=begin, subsequent_indent=indent, break_on_hyphens=False
    )


def plan_fragment(plan: ValidationPlan) -> str:
    """Return question, price, expected accuracy and promise, as a notebook shows them."""
    tables = "".join(html_table(table) for table in plan_tables(plan, rows="rows"))
    promise = guarantee_sentences(plan.question)
    return f"<div>{tables}<p>Promise to the people in the data</p>{bullets(promise)}</div>"


def site_fragment(status: SiteStatus) -> str:
    """Return everything that is known of a site, as a notebook shows it."""
    tables = "".join(html_table(table) for table in site_tables(status))
    return f"<div>{bullets(line.strip() for line in site_lines(status))}{tables}</div>"
