"""Modes: what leaves a site and what that promises."""
