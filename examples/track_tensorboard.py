"""Follow a fit in TensorBoard: its loss over epochs, and the score of every setting that is tried."""

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import csbm

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError:
    SummaryWriter = None


class TensorBoardTracker:
    """Writes to a folder that ``tensorboard --logdir runs`` shows; epochs are counted over all settings."""

    def __init__(self, writer):
        self.writer, self.epochs = writer, 0

    def on_epoch(self, state):
        self.epochs += 1
        for name in ("loss", "homophily", "best"):
            self.writer.add_scalar(f"epoch/{name}", getattr(state, name), self.epochs)

    def on_trial(self, trial):
        self.writer.add_scalar("trial/validation", trial.validation, trial.number)
        self.writer.add_text("trial/settings", f"{trial.model} {trial.settings}", trial.number)


if __name__ == "__main__" and SummaryWriter is None:
    print("TensorBoard is not installed: pip install tensorboard")
elif __name__ == "__main__":
    tracker = TensorBoardTracker(SummaryWriter("runs/newtonnet"))
    model = NewtonNetClassifier(time_limit=5)
    model.fit(csbm(0.1, nodes=300, features=100), on_epoch=tracker.on_epoch, on_trial=tracker.on_trial)
    print(f"{model.tried_} settings and {tracker.epochs} epochs written to runs/newtonnet")
