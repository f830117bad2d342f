"""Compare the output that a page shows below a command with what the command prints."""

from __future__ import annotations

from itertools import groupby

LEFT_OUT = "..."


def passages(output: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Split the lines where the page leaves some out, and drop empty ones."""
    full = (line for line in output if line)
    return [tuple(lines) for left_out, lines in groupby(full, LEFT_OUT.__eq__) if not left_out]


def shows(printed: str, output: tuple[str, ...]) -> bool:
    """Tell whether the passages of `output` occur in `printed`, each in one piece and in this order."""
    lines, start = [line.rstrip() for line in printed.splitlines() if line.strip()], 0
    for passage in passages(output):
        places = (at for at in range(start, len(lines)) if tuple(lines[at : at + len(passage)]) == passage)
        at = next(places, None)
        if at is None:
            return False
        start = at + len(passage)
    return True
