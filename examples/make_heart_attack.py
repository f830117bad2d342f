"""Make heart_attack.csv: out-of-fold risks of death within a year of a heart attack, from two models.

The Worcester Heart Attack Study (WHAS500; Hosmer, Lemeshow & May 2008) ships inside scikit-survival.
Nobody alive is followed for less than a year, so death within 365 days is known for everyone. Run:

    pip install scikit-survival
    python examples/make_heart_attack.py

The file holds risks, not the patients' measurements. `logistic` uses what is known on admission;
`age_only` uses age alone. Both are refitted without each patient's fold, ten folds.
"""

from __future__ import annotations

import numpy as np

from confide.examples import HEART_ATTACK

DAYS = 365
FOLDS = 10
SEED = 20080101


def main() -> None:
    """Fit both models and write the file."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sksurv.datasets import load_whas500

    patients, outcome = load_whas500()
    died = (outcome["fstat"] & (outcome["lenfol"] <= DAYS)).astype(int)
    numeric = patients.astype(float)
    on_admission = [
        "age",
        "gender",
        "hr",
        "sysbp",
        "diasbp",
        "bmi",
        "chf",
        "cvd",
        "afb",
        "sho",
        "av3",
        "miord",
        "mitype",
    ]
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.3, max_iter=1000))
    risk = {
        name: cross_val_predict(model, numeric[columns], died, cv=folds, method="predict_proba")[:, 1]
        for name, columns in (("logistic", on_admission), ("age_only", ["age"]))
    }
    sex = np.where(numeric["gender"] == 1.0, "female", "male")
    age = np.where(numeric["age"] >= 75.0, "75 and over", "under 75")
    with HEART_ATTACK.open("w", encoding="utf-8", newline="\n") as file:
        file.write("died,logistic,age_only,sex,age_group\n")
        for row in zip(died, risk["logistic"], risk["age_only"], sex, age, strict=True):
            file.write("{},{:.6f},{:.6f},{},{}\n".format(*row))


if __name__ == "__main__":
    main()
