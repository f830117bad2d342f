"""Evaluation oracle's domain: terms, templates, masked labels, estimators, ranks and finals. No files, no network."""
