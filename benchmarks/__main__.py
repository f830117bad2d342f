"""Run all benchmarks, or those named on the command line."""

from __future__ import annotations

import argparse
import time

from benchmarks import (
    bootstrap,
    central_peer,
    contest,
    coverage,
    curve_coverage,
    engines,
    evaluate_speed,
    federated_network,
    federated_peer,
    federation,
    gpu,
    labelings,
    large_curves,
    least_error,
    least_width,
    local_coverage,
    missing_row,
    oracle_board,
    oracle_kills,
    oracle_load,
    private_ap,
    private_auc,
    private_curves,
    private_learning,
    rank_tables,
    ranking,
    startup,
)

ALL = {
    "ranking": ranking.run,
    "bootstrap": bootstrap.run,
    "startup": startup.run,
    "engines": engines.run,
    "rank-tables": rank_tables.run,
    "evaluate-speed": evaluate_speed.run,
    "gpu": gpu.run,
    "private-auc": private_auc.run,
    "least-error": least_error.run,
    "least-width": least_width.run,
    "private-ap": private_ap.run,
    "coverage": coverage.run,
    "local-coverage": local_coverage.run,
    "private-curves": private_curves.run,
    "private-learning": private_learning.run,
    "central-peer": central_peer.run,
    "curve-coverage": curve_coverage.run,
    "large-curves": large_curves.run,
    "labelings": labelings.run,
    "missing-row": missing_row.run,
    "contest": contest.run,
    "oracle-board": oracle_board.run,
    "oracle-load": oracle_load.run,
    "oracle-kills": oracle_kills.run,
    "federation": federation.run,
    "federated-peer": federated_peer.run,
    "federated-network": federated_network.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which ones: {', '.join(ALL)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="smaller inputs and fewer repetitions")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in ALL]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; choose from {', '.join(ALL)}")
    for name in arguments.names or ALL:
        started = time.perf_counter()
        print(f"\n== {name}")
        ALL[name](quick=arguments.quick)
        print(f"   ({time.perf_counter() - started:.0f} s)")


if __name__ == "__main__":
    main()
