"""Pieces of the study."""

from __future__ import annotations

from studies.running import Piece
from studies.whitehill import contests, counting
from studies.whitehill.plan import EPSILONS, PUBLISHED_HOW, Settings

SWAP_ROWS = 11


def pieces(settings: Settings) -> tuple[Piece, ...]:
    """Return all pieces, the longest first."""
    seed = settings.seed
    return (
        Piece(name="trees", work=counting.tree, arguments=(settings.tree,)),
        Piece(name="attacks", work=counting.attacked, arguments=(settings.tree, settings.truths, seed)),
        *(
            Piece(
                name=f"boards of {rows:,} rows",
                work=contests.boards,
                arguments=(rows, settings.answers, settings.boards, seed),
            )
            for rows in settings.board_rows
        ),
        Piece(name="counts", work=counting.counts),
        Piece(name="growth", work=counting.growth_lines),
        Piece(name="swaps", work=counting.every_swap, arguments=(SWAP_ROWS,)),
        Piece(name="conjecture", work=counting.conjecture, arguments=(settings.denominator,)),
        *(
            Piece(name=name, work=contests.repeated, arguments=(work, arguments, settings.contests, seed))
            for name, work, arguments in (
                ("one by one", contests.one_by_one, ()),
                *((how, contests.shown, (how,)) for how in PUBLISHED_HOW),
                *((masked_name(epsilon), contests.masked, (epsilon,)) for epsilon in EPSILONS),
            )
        ),
    )


def masked_name(epsilon: float) -> str:
    """Return the name of the piece with masked labels.

    >>> masked_name(2.0)
    'masked, epsilon 2'
    """
    return f"masked, epsilon {epsilon:g}"
