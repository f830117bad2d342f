"""Speed and accuracy beside peers: `python -m benchmarks`, or `make bench`."""
