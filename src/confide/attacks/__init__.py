"""Attacks that show what published numbers give away."""
