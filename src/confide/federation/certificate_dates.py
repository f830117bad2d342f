"""End of a certificate, and when to warn of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

WARN_DAYS = 30
"""Days before its end from which a certificate is warned about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateDates:
    """Time after which a certificate is not valid, and the time at which that was read."""

    ends: datetime
    now: datetime

    @classmethod
    def until(cls, ends: datetime) -> CertificateDates:
        """Compare an end with the time now."""
        return cls(ends=ends, now=datetime.now(UTC))

    @property
    def days(self) -> int:
        """Whole days that are left; negative if the certificate has ended."""
        return (self.ends - self.now) // timedelta(days=1)

    @property
    def ends_soon(self) -> bool:
        """True if the certificate has ended, or ends within a month."""
        return self.days < WARN_DAYS

    def in_words(self) -> str:
        """Return the date, and how many days are left.

        >>> from datetime import UTC, datetime
        >>> CertificateDates(ends=datetime(2027, 1, 11, tzinfo=UTC), now=datetime(2027, 1, 1, tzinfo=UTC)).in_words()
        '2027-01-11, in 10 days'
        """
        date = f"{self.ends:%Y-%m-%d}"
        if self.days < 0:
            return f"{date}, which is over"
        return f"{date}, in {self.days} day{'' if self.days == 1 else 's'}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"ends": self.ends.isoformat(timespec="seconds"), "days": self.days, "ends_soon": self.ends_soon}
