"""Notes to a site's administrator, and to whoever starts an engine: findings in, sentences out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from confide.federation.flare.confinement import UNCONFINED
from confide.federation.modes.registry import MODES
from confide.federation.site.data_check import FEATURE_ADVICE

if TYPE_CHECKING:
    from confide.federation.policy import Policy
    from confide.federation.site.data_check import DataCheck
    from confide.federation.site.start_check import StartCheck

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
