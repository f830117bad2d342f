"""Help of the option `--metric`, which names the metrics. A test compares them with those of contests."""

METRICS = (
    "auc",
    "average_precision",
    "accuracy",
    "balanced_accuracy",
    "recall",
    "specificity",
    "precision",
    "f1",
    "brier",
    "log_loss",
    "calibration_in_the_large",
)

METRIC_HELP = f"Metric of the board and of the final: {', '.join(METRICS[:-1])} or {METRICS[-1]}."
