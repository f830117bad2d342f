"""Validation at sites that share no rows: what it takes, how often sites are asked, and how near it comes."""

from __future__ import annotations

from benchmarks.federated_accuracy import print_accuracy
from benchmarks.federated_engine import print_engine
from benchmarks.federated_fit import print_fits
from benchmarks.federated_masks import print_masks
from benchmarks.federated_rounds import print_rounds
from benchmarks.federated_work import print_work


def run(*, quick: bool = False) -> None:
    missed = print_work(quick=quick)
    print_fits(quick=quick)
    print_masks(quick=quick)
    print_rounds(quick=quick)
    missed += print_engine(quick=quick)
    print_accuracy(quick=quick)
    print(f"\ntargets missed: {missed}")
