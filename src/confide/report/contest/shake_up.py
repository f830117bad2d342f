"""Slope plot of a final: the rank on the board beside the rank in the final.

A move is clear if the two intervals of ranks do not meet. Any other move may be chance, and is drawn thin and dashed.
Intervals are compared only if board and final rank as many entries: else a rank means something else on each side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from confide.report.contest.dot_plot import NARROW
from confide.report.contest.drawing import BLUE, GREY, VERMILION, fitted, strokes, svg, text, texts

_TOP, _PITCH = 50.0, 24.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Ranks of one finalist on the board and in the final, each with its interval."""

    name: str
    before: int
    before_span: tuple[int, int]
    after: int
    after_span: tuple[int, int]
    comparable: bool = True

    @property
    def change(self) -> int:
        """Return how many ranks were won; negative if lost."""
        return self.before - self.after

    @property
    def clear(self) -> bool:
        """Return whether the intervals of ranks do not meet, so that chance is no explanation."""
        apart = self.after_span[0] > self.before_span[1] or self.before_span[0] > self.after_span[1]
        return self.comparable and apart

    def words(self) -> str:
        """Return the change for a table."""
        if not self.change:
            return "same rank"
        moved = f"{'up' if self.change > 0 else 'down'} {abs(self.change)}"
        return f"{moved}, within chance" if self.comparable and not self.clear else moved


def slope_plot(moves: Sequence[Move], *, width: int = 760, prefix: str = "moves") -> str:
    """Return an SVG with the board at the left and the final at the right, joined by one line for each finalist.

    `moves` are in the order of the final.
    """
    if not moves:
        return ""
    before = sorted(range(len(moves)), key=lambda one: (moves[one].before, one))
    heights = {one: _TOP + (place + 0.5) * _PITCH for place, one in enumerate(before)}
    narrow = width < NARROW
    left, right = (118.0, width - 150.0) if narrow else (250.0, width - 290.0)
    parts = [
        texts((text(left, 30, "on the board"),), size=12, anchor="end", kind="soft"),
        texts((text(right, 30, "in the final"),), size=12, kind="soft"),
    ]
    for place, move in enumerate(moves):
        parts += _slope(move, heights[place], _TOP + (place + 0.5) * _PITCH, (left, right), narrow=narrow)
    return svg(
        parts,
        size=(width, _TOP + len(moves) * _PITCH + 12),
        prefix=prefix,
        title="Ranks on the board and in the final",
        description=_description(moves),
    )


def _slope(move: Move, y: float, to: float, ends: tuple[float, float], *, narrow: bool) -> Iterator[str]:
    left, right = ends
    colour, kind = (GREY, "same") if not move.change else (BLUE, "up") if move.change > 0 else (VERMILION, "down")
    dashes = "" if move.clear or not move.change else "5 4"
    slope = f"M{left + 8:.1f} {y:.1f}L{right - 8:.1f} {to:.1f}"
    yield strokes((slope,), width=3 if move.clear else 1.6, colour=colour, kind=kind, dashes=dashes)
    for x, height in ((left + 8, y), (right - 8, to)):
        yield f'<circle cx="{x:.1f}" cy="{height:.1f}" r="4" fill="{colour}" class="{kind}"/>'
    sign = "=" if not move.change else f"▲ {move.change}" if move.change > 0 else f"▼ {-move.change}"
    size, room, edge = (12, 80.0, right + 146.0) if narrow else (13, 200.0, right + 286.0)
    name = fitted(move.name, room, size=size)
    yield texts((text(left, y + 4.5, f"{name}  {move.before}"),), size=size, anchor="end")
    yield texts((text(right, to + 4.5, f"{move.after}  {name}"),), size=size)
    yield texts((text(edge, to + 4.5, sign),), size=size, anchor="end", bold=move.clear)


def _description(moves: Sequence[Move]) -> str:
    up, down = sum(move.change > 0 for move in moves), sum(move.change < 0 for move in moves)
    return (
        f"{len(moves)} finalists: {up} moved up, {down} moved down, {len(moves) - up - down} kept their rank. "
        f"{moves_words(moves)} The table holds the ranks."
    )


def moves_words(moves: Sequence[Move]) -> str:
    """Say how many moves are larger than chance explains."""
    if not all(move.comparable for move in moves):
        return (
            "The board ranks the best submission of each participant, the final each finalist: with different numbers "
            "of entries, a move by a few ranks means little."
        )
    clear = sum(move.clear for move in moves)
    if not clear:
        return "No finalist moved by more than chance explains: the intervals of ranks meet for each of them."
    many = "One finalist moved" if clear == 1 else f"{clear} finalists moved"
    return f"{many} by more than chance explains: the intervals of ranks on the board and in the final do not meet."
