"""Number of examples of a property test, which every hypothesis profile scales."""

from __future__ import annotations

import math

from hypothesis import settings

USUAL = 30
"""Examples of a property test that states no number, in the usual profile."""


def examples(usual: int) -> settings:
    """Return settings for `usual` examples in the usual profile, and in the same proportion in other profiles.

    Use it where `USUAL` examples are too few or too many: a number given to `settings` would hold in every profile.
    """
    return settings(max_examples=math.ceil(usual * settings().max_examples / USUAL))
