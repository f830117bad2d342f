"""A real example that ships with the package."""

from __future__ import annotations

from pathlib import Path

HEART_ATTACK = Path(__file__).with_name("heart_attack.csv")
"""500 patients after a heart attack: death within a year, two models' out-of-fold risks, sex and age group."""
