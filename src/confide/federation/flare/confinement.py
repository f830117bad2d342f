"""Confinement of a process to certain folders with Linux's Landlock, also if root runs it.

A site's engine has no use for files beyond Python's own, the site's folder and the folders of its data. Landlock holds
a process, its threads and the processes that it starts to a list of folders, root included, and cannot be undone.
Kernels without it (before 5.13, or where it is switched off) leave the process as it was.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import confide
from confide.errors import ConfideError, RefusedError
from confide.federation.policy import Policy
from confide.federation.site.config import SiteConfig, SiteModel
from confide.federation.site.row_sources import DatabaseRows

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1}
"""Rights that each version of Landlock can deny."""

_SYSTEM = ("/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/sbin", "/sys", "/usr")
_NAMES = ("/run/systemd/resolve", "/run/resolvconf", "/run/nscd")
_DEVICES = ("/dev/null", "/dev/shm", "/dev/tty")  # noqa: S108 - shared memory of the numerical libraries


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled", ctypes.c_uint64),)


class _Rule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


UNCONFINED = (
    "this kernel has no Landlock (Linux 5.13 and later, switched on), so the engine is not held to the site's "
    "folder and data: it can read whatever its user can"
)
_REQUIRED = (
    "the policy says require_confinement = true, and this kernel has no Landlock; start the site on Linux 5.13 or "
    "later with Landlock switched on, or set require_confinement = false in policy.toml"
)


def can_confine() -> bool:
    """Return whether the kernel can confine a process."""
    return _landlock() > 0


def require_confinement(policy: Policy) -> None:
    """Refuse to go on where a policy asks for confinement and the kernel has none."""
    if policy.require_confinement and not can_confine():
        raise RefusedError(_REQUIRED)


def confine_site(folder: Path) -> bool:
    """Confine this process to a site's folder and the folders of its data; return whether the kernel can."""
    readable = [*python_folders(), *data_folders(folder), *credential_files(folder)]
    return confine(readable=readable, writable=[folder, *compiled_folders()])


def data_folders(folder: Path) -> Iterator[Path]:
    """Yield the folders in which a site's data and models lie: files in them may be replaced while it runs."""
    return (file.parent for file in data_files(folder))


def wide_folders(folder: Path) -> tuple[Path, ...]:
    """Return the folders of a site's data that hold much else: a home folder, or one that holds home folders."""
    homes = (Path.home().resolve(), _home_of_owner(folder))
    wide = {place for home in homes for place in (home, *home.parents)}
    return tuple(sorted(set(data_folders(folder)) & wide))


def _home_of_owner(folder: Path) -> Path:
    """Return the home folder of the user whom a folder belongs to; the root folder where there is none."""
    try:
        return Path(pwd.getpwuid(folder.stat().st_uid).pw_dir).resolve()
    except (KeyError, OSError):
        return Path("/")


def data_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a site's data and models; none where its configuration cannot be read."""
    for config, model in _models(folder):
        yield from config.row_source(model).files()
        if model.model_file is not None:
            yield (folder / model.model_file).resolve()


def credential_files(folder: Path) -> Iterator[Path]:
    """Yield the files in which drivers of a site's databases look for passwords, services and certificates."""
    for config, model in _models(folder):
        source = config.row_source(model)
        if isinstance(source, DatabaseRows):
            yield from source.credential_files()


def _models(folder: Path) -> list[tuple[SiteConfig, SiteModel]]:
    try:
        config = SiteConfig.load(folder)
    except ConfideError:
        return []
    return [(config, model) for model in config.models.values()]


def python_folders() -> Iterator[Path]:
    """Yield the folders from which Python and the system's libraries are read."""
    yield from map(Path, (*_SYSTEM, *_NAMES, sys.prefix, sys.base_prefix, sys.exec_prefix, *filter(None, sys.path)))
    yield Path(sys.executable).resolve().parent
    yield Path(confide.__file__).parent


def compiled_folders() -> Iterator[Path]:
    """Yield the places where compiled functions are kept, and the devices that programs write to."""
    yield from Path(confide.__file__).parent.rglob("__pycache__")
    yield from map(Path, _DEVICES)


def confine(*, readable: Iterable[Path], writable: Iterable[Path]) -> bool:
    """Deny this process all files but those in some folders; call it before other threads start.

    Returns False where the kernel has no Landlock. Folders that do not exist are left out.
    """
    found = _landlock()
    if found < 1:
        return False
    library = ctypes.CDLL(None, use_errno=True)
    handled = _RIGHTS[min(found, max(_RIGHTS))]
    asked = _Ruleset(handled)
    rules = _checked(library.syscall(_CREATE, ctypes.byref(asked), ctypes.c_size_t(ctypes.sizeof(asked)), 0))
    try:
        for paths, allowed in ((readable, _READ), (writable, handled)):
            for path in {path.resolve() for path in paths}:
                _allow(library, rules, path, allowed)
        _checked(library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _checked(library.syscall(_RESTRICT, rules, 0))
    finally:
        os.close(rules)
    return True


def _landlock() -> int:
    """Return the version of the kernel's Landlock; less than 1 if it has none."""
    if sys.platform != "linux":
        return -1
    return int(ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION))


def _allow(library: ctypes.CDLL, rules: int, path: Path, allowed: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = _Rule(allowed if path.is_dir() else allowed & _OF_FILES, place)
        _checked(library.syscall(_ADD, rules, _PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(place)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
