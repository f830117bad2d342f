"""Train the model that the hospitals validate, on the cohort of another made-up hospital.

    python examples/omop/make_model.py DATABASE model.joblib

It is a logistic regression of scikit-learn; a missing creatinine is replaced by the median of the training rows.
"""

from __future__ import annotations

import sys
from pathlib import Path

import joblib
import pandas as pd
import psycopg
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

FEATURES = ["age", "female", "creatinine", "diabetes"]


def main(database: str, file: str) -> None:
    """Train on the rows of the cohort query, and save the model."""
    query = Path(__file__).with_name("cohort.sql").read_text(encoding="utf-8")
    with psycopg.connect(dbname=database) as connection:
        rows = connection.execute(query.encode()).fetchall()
    table = pd.DataFrame(rows, columns=[*FEATURES, "died"]).astype(float)
    model = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), LogisticRegression())
    joblib.dump(model.fit(table[FEATURES], table["died"].astype(int)), file)


if __name__ == "__main__":
    main(*sys.argv[1:])
