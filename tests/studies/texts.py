"""A small folder with the files that the study reads: texts of made-up words, some of which tell the classes apart."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from studies.stoddard.data import CORPORA

ROWS, WORDS = 160, 70


def written_texts(seed: int) -> tuple[list[bool], list[str]]:
    rng = np.random.default_rng(seed)
    labels = rng.random(ROWS) < 0.4
    usual = 2.0 / (1.0 + np.arange(WORDS))
    lean = np.where(np.arange(WORDS) % 3 == 0, 2.5, 1.0)
    texts = []
    for label in labels:
        chance = np.clip(usual * (lean if label else 1.0 / lean), 0.0, 0.9)
        texts.append(" ".join(f"Word{number:02d}" for number in np.flatnonzero(rng.random(WORDS) < chance)) + " the of")
    return labels.tolist(), texts


def text_folder(folder: Path) -> Path:
    """Write the three files under their names."""
    for seed, corpus in enumerate(CORPORA.values()):
        labels, texts = written_texts(seed)
        said = [corpus.positive if label else corpus.negative for label in labels]
        file = folder / corpus.file
        if file.suffix == ".parquet":
            pq.write_table(pa.table({corpus.label: [int(value) for value in said], "text": texts}), file)
            continue
        with gzip.open(file, "wt", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow((corpus.label, "text"))
            writer.writerows(zip(said, texts, strict=True))
    return folder
