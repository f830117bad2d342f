"""Command line: one small module for each verb."""
