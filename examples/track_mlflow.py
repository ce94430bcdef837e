"""Follow a fit in MLflow: its loss over epochs, and a nested run for every setting that is tried."""

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import csbm

try:
    import mlflow
except ImportError:
    mlflow = None


class MLflowTracker:
    """Logs to the active run; a fit trains many settings, so epochs are counted over all of them."""

    def __init__(self):
        self.epochs = 0

    def on_epoch(self, state):
        self.epochs += 1
        mlflow.log_metrics({"loss": state.loss, "homophily": state.homophily, "best": state.best}, step=self.epochs)

    def on_trial(self, trial):
        with mlflow.start_run(run_name=f"{trial.number} {trial.model}", nested=True):
            mlflow.log_params(trial.settings)
            mlflow.log_metrics({"validation": trial.validation, "folds": trial.folds, "seconds": trial.seconds})


if __name__ == "__main__" and mlflow is None:
    print("MLflow is not installed: pip install mlflow")
elif __name__ == "__main__":
    tracker = MLflowTracker()
    with mlflow.start_run():
        model = NewtonNetClassifier(time_limit=5)
        model.fit(csbm(0.1, nodes=300, features=100), on_epoch=tracker.on_epoch, on_trial=tracker.on_trial)
        mlflow.log_metric("validation", model.validation_score_)
    print(f"{model.tried_} settings and {tracker.epochs} epochs logged")
