"""A site's administration: set it up, add models, start and stop it, and keep its certificate valid.

`site.toml` is written last: a folder that has it is a site. Before it come the kit, the policy and the ledger. After a
crash each of them is there whole or not at all, and is kept or made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from confide.errors import FederationError, ParameterError, UsageError, did_you_mean
from confide.tasks.federation import open_site, require_engine
from confide.tasks.requests.federation import ModelRequest, SiteRequest
from confide.tasks.requests.options import verb_of

if TYPE_CHECKING:
    from confide.federation.flare.authority import CertificateDates
    from confide.federation.flare.processes import Running
    from confide.federation.site.checks import DataCheck, StartCheck
    from confide.federation.site.config import SiteConfig, SiteFolder, SiteModel


def site_model(
    *,
    data: str | Path,
    label: str,
    positive: str | None = None,
    score: str | None = None,
    model_file: str | Path | None = None,
    features: Sequence[str] = (),
    score_range: tuple[float, float] | None = None,
    query: str | Path | None = None,
) -> SiteModel:
    """Describe a model's rows and scores, with absolute paths, so that they hold wherever the site is started.

    `data` is the path of a file, or the URL of a table in PostgreSQL or DuckDB. With `query`, the path of a file with a
    SELECT statement, the URL names the database alone. The text of the query is fixed by its digest.
    """
    require_engine()
    from confide.federation.site.config import SiteModel

    model = None if model_file is None else Path(model_file)
    place, digest = _row_place(data, query)
    if model is not None and not model.is_file():
        raise UsageError(f"there is no file {model}; give the model's file")
    if score is not None and score == label:
        raise UsageError(f"column {label!r} cannot be both label and score; name the column that holds scores")
    if (score is None) == (model is None and not features):
        raise UsageError("give `score`, the column of scores, or `model_file` with `features`, the columns it takes")
    return SiteModel(
        data=place,
        label=label,
        positive=positive,
        score=score,
        features=tuple(features),
        model_file=None if model is None else str(model.resolve()),
        range=(0.0, 1.0) if score_range is None else score_range,
        query=None if query is None else str(Path(query).resolve()),
        query_sha256=digest,
    )


def _row_place(data: str | Path, query: str | Path | None) -> tuple[str, str | None]:
    """Return the absolute path or the URL of rows, and the digest of the query that returns them."""
    from confide.federation.site.row_sources import checked_location, is_url
    from confide.sources.locations import Engine, read_query

    if isinstance(data, str) and is_url(data):
        text = None if query is None else read_query(Path(query))
        found = checked_location(data, text)
        if found.engine is Engine.DUCKDB:
            found = replace(found, place=str(Path(found.place).resolve()))
        return found.url, found.query_sha256
    rows = Path(data)
    if not rows.is_file():
        raise UsageError(f"there is no file {rows}; give the file of rows, or the URL of a table")
    if query is not None:
        raise UsageError("`query` is for a database; give its URL as `data`, such as postgresql://host/database")
    return str(rows.resolve()), None


_LEFTOVERS = (".policy.toml-*", ".site.toml-*", ".site.db*-*")
"""Names under which a killed process leaves unfinished files of these kinds."""


def require_new_site(place: SiteFolder, policy: str | None = None) -> None:
    """Refuse a folder without the keys of a request, a site, and files that `make_site` would have to replace.

    Without a policy, one that is there is not looked at yet.
    """
    from confide.federation.site.records import SiteRecords
    from confide.federation.site_files import read_text

    if place.config.exists():
        raise UsageError(f"{place.path} is a site already; renew its certificate with `confide site renew`")
    if (place.path / "run").exists() or SiteRecords(place).are_used():
        raise FederationError(
            f"{place.path} is a site whose {place.config.name} is missing; put that file back from a backup"
        )
    if not place.kit.exists() and not place.new_key.is_file():
        raise UsageError(
            f"{place.path} has no keys of a site; make them, and a request to the coordinator, with `confide site "
            "request`"
        )
    if policy is not None and place.policy.exists() and read_text(place.policy, "policy") != policy:
        raise UsageError(
            f"{place.policy} is there already, with other rules than these options give; repeat the command that was "
            "interrupted, or delete the file"
        )


def make_site(kit: Path, place: SiteFolder, model_name: str, model: SiteModel, policy: str) -> None:
    """Take a kit in, and write the policy, the ledger and, in the end, the configuration."""
    from confide.atomic_files import flush
    from confide.federation.flare.kits import renew_site, unpack_site_kit
    from confide.federation.policy import Policy
    from confide.federation.site.accounts import account_by_policy
    from confide.federation.site.config import SiteConfig
    from confide.federation.site.records import SiteRecords
    from confide.federation.site_files import write_whole

    require_new_site(place, policy)
    _remove_leftovers(place)
    # The kit of an interrupted call was never used: one of another root may replace it, as it could have come first.
    name = renew_site(kit, place, compared=True) if place.kit.exists() else unpack_site_kit(kit, place)
    write_whole(place.policy, policy)
    records = SiteRecords(place)
    records.begin()
    account_by_policy(records.ledger, Policy.from_toml(policy))
    flush(place.path)
    SiteConfig(name=name, models={model_name: model}, folder=place.path).write(place.path)
    flush(place.path)


def _remove_leftovers(place: SiteFolder) -> None:
    """Remove unfinished files, and the key of records that were not made: they refuse to begin with one."""
    left = [path for pattern in _LEFTOVERS for path in place.path.glob(pattern)]
    if not place.database.exists() and not place.database.with_name(f"{place.database.name}.anchor").exists():
        left.append(place.database.with_name(f"{place.database.name}.key"))
    for path in left:
        path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSite:
    """A site that was set up, and the findings about its data, which are for its administrator alone."""

    folder: SiteFolder
    check: DataCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class NewModel:
    """A model that was added to a site.

    `check` has the findings about its data, for the administrator alone; None for another name of a known model.
    `needs_restart` is True if the running engine may not open the folder of these data.
    """

    folder: SiteFolder
    name: str
    check: DataCheck | None = None
    needs_restart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedSite:
    """A site whose engine was started.

    `as_root` is True if the engine has all rights of the machine. `wide_folders` are folders of data that open far
    more than the data to the engine. `confined` is False if the kernel cannot hold the engine to its folders.
    """

    folder: SiteFolder
    check: StartCheck
    running: Running
    as_root: bool
    wide_folders: tuple[Path, ...]
    confined: bool


@verb_of(SiteRequest)
def init_site(request: SiteRequest) -> NewSite:
    """Set up a site in the folder of its request, with the kit that the coordinator signed for it.

    Wrong parameters change nothing. If the call fails later, or is killed, the same call again finishes its work.

    Parameters
    ----------
    kit, folder
        The ZIP file, and the folder in which `request_site` made the site's keys.
    model_name
        The first model, under the name by which the coordinator asks for it.
    data, label, positive, score, model_file, features, score_range, query
        The model's rows and scores; see `site_model`.
    studies
        The studies that the site takes part in. Without any, one with the federation's name.
    epsilon_in_all, epsilon_per_study, delta_in_all
        Limits of the private mode: epsilon of all studies together, and of one study. None keeps the default. With a
        delta of all studies together, the ledger adds up rho, and Gaussian noise is allowed.
    modes
        The modes in which the site answers, such as ["private", "secure-sum"]. Without any, only "private".
    """
    require_engine()
    from confide.federation.flare.kits import kit_federation
    from confide.federation.policy import Policy
    from confide.federation.site.checks import check_data
    from confide.federation.site.config import SiteFolder, new_policy

    kit, folder = request.kit, request.folder
    packed, place = Path(kit), SiteFolder(Path(folder).absolute())
    if not packed.is_file():
        if packed.is_dir() and Path(folder).is_file():
            raise UsageError(f"the kit comes first, then the folder: confide site init {folder} {kit} ...")
        raise UsageError(f"there is no file {packed}; give the kit that the coordinator handed to you")
    _require_other_folder(packed, place, folder)
    require_new_site(place)
    policy = new_policy(
        tuple(request.studies) or (kit_federation(packed),),
        epsilon_in_all=request.epsilon_in_all,
        epsilon_per_study=request.epsilon_per_study,
        delta_in_all=request.delta_in_all,
        modes=request.modes,
    )
    require_new_site(place, policy)
    model = site_model(**request.model_terms(request.data, request.label))
    check = check_data(request.model_name, model, Policy.from_toml(policy))
    make_site(packed, place, request.model_name, model, policy)
    return NewSite(folder=place, check=check)


@verb_of(ModelRequest)
def add_model(request: ModelRequest) -> NewModel:
    """Add a model to a site, or replace one; with `same_as`, add another name for a model that the site has.

    The rows are read once and compared with those of the other models. Exact answers under two names could be
    subtracted from each other, so the same rows and scores are refused under a second name. Names that share one
    model (`same_as`) share its entry in the site's register.
    """
    place = open_site(request.folder)
    if request.same_as is not None:
        return _add_alias(place, request, request.same_as)
    return _add_model(place, request, site_model(**request.model_terms(str(request.data), str(request.label))))


def check_site(folder: str | Path) -> StartCheck:
    """Check that a site can start: its files can be read, and no two of its models share rows and scores."""
    place = open_site(folder)
    from confide.federation.flare.kits import site_identity
    from confide.federation.site import checks

    return checks.check_site(place, certificate_name=site_identity(place).name)


def start_site(folder: str | Path, *, attached: bool = False) -> StartedSite:
    """Check a site and start its engine, which connects as soon as it can reach the server.

    An `attached` engine ends with this process, also if this process is killed.
    """
    check, place = check_site(folder), open_site(folder)
    from confide.federation.flare import processes
    from confide.federation.flare.confinement import can_confine, wide_folders
    from confide.federation.flare.processes import runs_as_root

    running = processes.start_site(place, attached=attached)
    return StartedSite(
        folder=place,
        check=check,
        running=running,
        as_root=runs_as_root(place.path),
        wide_folders=wide_folders(place.path),
        confined=can_confine(),
    )


def stop_site(folder: str | Path) -> bool:
    """Stop a site's engine; return whether one was running."""
    place = open_site(folder)
    from confide.federation.flare.processes import find_running

    running = find_running(place)
    if running is not None:
        running.stop()
    return running is not None


def forget_model(folder: str | Path, model: str, *, yes: bool = False) -> None:
    """Let a model be asked about without noise anew, under all names that it has.

    Give `yes` only if the first answer was never seen, or the data are different altogether: two exact answers about a
    model can be subtracted from each other, which discloses small groups.
    """
    place = open_site(folder)
    from confide.federation.site.config import SiteConfig
    from confide.federation.site.register import Register

    if not yes:
        raise UsageError(
            f"two exact answers about {model!r} can be subtracted from each other, which discloses small groups; if "
            "the first was never seen, or the data are different altogether, repeat this with `yes`"
        )
    config = SiteConfig.load(place.path)
    names = config.names
    if Register(place.path).forget(model, source=config.source(model) if model in names else ""):
        return
    if model not in names:
        raise UsageError(f"this site has no model {model!r}. {did_you_mean(model, names)}It has {', '.join(names)}")
    raise UsageError(f"nobody has asked for {model!r} without noise yet; there is nothing to forget")


def _require_other_folder(kit: Path, place: SiteFolder, folder: str | Path) -> None:
    """Refuse to set up a site of one federation in the folder of a site of another one."""
    from confide.federation.flare.kits import kit_federation, site_home

    if place.config.exists():
        present, new = site_home(place).federation, kit_federation(kit)
        if present != new:
            raise UsageError(
                f"{folder} is already a site of federation {present}; this kit is for {new}. Choose another folder"
            )


def _add_model(place: SiteFolder, request: ModelRequest, model: SiteModel) -> NewModel:
    from confide.federation.flare.confinement import data_folders
    from confide.federation.flare.processes import find_running
    from confide.federation.policy import Policy
    from confide.federation.site.checks import check_data, require_new_rows

    config, name = _require_free_name(place, request), request.model_name
    check = check_data(name, model, Policy.load(place.policy))
    require_new_rows(config, name, model, check.counts)
    before = set(data_folders(place.path))
    _write(place, config.with_model(name, model), request.studies)
    opened = set(data_folders(place.path)) - before - {place.path.resolve()}
    restart = bool(opened) and find_running(place) is not None
    return NewModel(folder=place, name=name, check=check, needs_restart=restart)


def _add_alias(place: SiteFolder, request: ModelRequest, same_as: str) -> NewModel:
    config, name = _require_free_name(place, request), request.model_name
    if same_as not in config.names or same_as == name:
        hint = did_you_mean(same_as, config.names)
        raise UsageError(f"this site has no other model {same_as!r}. {hint}It has {', '.join(config.names)}")
    _write(place, config.with_alias(name, same_as), request.studies)
    return NewModel(folder=place, name=name)


def _require_free_name(place: SiteFolder, request: ModelRequest) -> SiteConfig:
    from confide.federation.site.config import SiteConfig

    config = SiteConfig.load(place.path)
    if request.model_name in config.names and not request.replace:
        raise ParameterError(f"the site has a model {request.model_name!r} already; give another name, or `replace`")
    return config


def _write(place: SiteFolder, config: SiteConfig, studies: Sequence[str]) -> None:
    """Write the configuration, and add studies to the policy; neither if a study's name is refused."""
    from confide.federation.policy import with_studies
    from confide.federation.site_files import read_text, write_whole

    if studies:
        write_whole(place.policy, with_studies(read_text(place.policy, "policy"), studies))
    config.write(place.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRequest:
    """A site's request for a certificate: its file, the site's name, and the fingerprint to be compared.

    `federation` is the one that the site belongs to already, if the request is for a new key of a site.
    """

    site: str
    file: Path
    fingerprint: str
    federation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewedSite:
    """A site whose certificate was renewed; `needs_restart` is True if its engine runs with the old one."""

    site: str
    dates: CertificateDates
    needs_restart: bool


def request_site(folder: str | Path, *, name: str | None = None) -> NewRequest:
    """Make a site's keys in its folder, and the request that the coordinator signs. Private keys stay in the folder.

    In the folder of a site that is set up, this makes a new key for TLS. Leave `name` out there: with a name, the call
    is taken for the set-up of another site, and refused.
    """
    require_engine()
    from confide.federation.flare.kits import make_request, site_home
    from confide.federation.site.config import SiteFolder

    place = SiteFolder(Path(folder).absolute())
    if not place.path.parent.is_dir():
        raise UsageError(f"the folder of {folder} does not exist; create it first")
    if place.path.exists() and not _can_request(place):
        raise UsageError(f"{folder} exists already; give a new or empty folder")
    federation = site_home(place).federation if place.config.exists() else None
    if federation is not None and name is not None:
        raise UsageError(
            f"{folder} is already a site of federation {federation}. Choose another folder for another site. For a new "
            f"key for TLS of this one, leave `name` out: confide site request {folder}"
        )
    request, file = make_request(place, name)
    return NewRequest(site=request.site, file=file, fingerprint=request.fingerprint(), federation=federation)


def renew_site(folder: str | Path, kit: str | Path, *, compared: bool = False) -> RenewedSite:
    """Take a new kit into a site's folder. Ledger, register, policy and the site's own key stay.

    `compared` confirms that the fingerprint of another root was compared by telephone.
    """
    if Path(folder).is_file() and Path(kit).is_dir():
        raise UsageError(f"the folder comes first, then the kit: confide site renew {kit} {folder}")
    place = open_site(folder)
    from confide.federation.flare import kits
    from confide.federation.flare.authority import CertificateDates
    from confide.federation.flare.processes import find_running

    site = kits.renew_site(kit, place, compared=compared)
    ends = kits.site_identity(place).ends
    return RenewedSite(site=site, dates=CertificateDates.until(ends), needs_restart=find_running(place) is not None)


def _can_request(place: SiteFolder) -> bool:
    """Return whether a folder is a site's, made keys before, or is empty but for what a killed command left."""
    from confide.federation.flare.kits import leftovers

    if not place.path.is_dir():
        return False
    known = place.kit.exists() or place.new_key.exists() or place.key.exists()
    return known or set(place.path.iterdir()) <= set(leftovers(place))
