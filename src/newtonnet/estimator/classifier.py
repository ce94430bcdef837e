"""``NewtonNetClassifier``: an estimator for graphs with a scikit-learn interface."""

from __future__ import annotations  # so that help() prints the names of types and not all that they stand for

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from newtonnet.explanations import Explanation
from newtonnet.graphs import Graph, homophily
from newtonnet.metrics import Threshold, choose_threshold, class_weights, decide, score
from newtonnet.training import OnEpoch

from .conformal import calibrate, prediction_sets, set_scores
from .ensemble import OutOfFold, held_out_folds
from .estimator import GraphEstimator, chosen_nodes
from .explaining import explain_ensemble
from .frames import prediction_frame, read_fitted
from .inputs import AUTO, IN_MEMORY, Role, check_feature_names, check_parameters, read_labels
from .portfolio import OnTrial, deadline_in
from .scoring import Shares, best_temperature, sharpened

ANOTHER_GRAPH = (
    "these sets were calibrated on another graph; their coverage holds only if its nodes are of the same kind as these"
)


class NewtonNetClassifier(ClassifierMixin, GraphEstimator):  # type: ignore[misc]
    """Classify the nodes of a graph of unknown homophily.

    ``fit`` takes a :class:`~newtonnet.Graph`, a PyTorch Geometric ``Data``, a networkx graph, a pair of a scipy
    adjacency matrix and features, or a pair of tables of nodes and edges (pandas, Polars, Arrow, or files). With
    ``tune="auto"`` it tries a portfolio of settings, evaluates each on labelled nodes held out from it, and keeps a
    weighted average of the best few.

    Args:
        model: any model of the zoo.
        tune: ``auto``, or ``off`` to train only the model's defaults (changed by ``settings``).
        settings: options of the model or its training by name, such as ``{"degree": 10, "gamma1": 3.0}``; they hold in
            every setting that is tried.
        folds: number of inner folds; the model is an average over them. None chooses it by the number of labels.
        max_epochs: maximum number of epochs.
        patience: epochs without a better validation score after which training stops.
        standardise: ``auto`` standardises numeric features if their scales are unequal and leaves features of zeros and
            ones, bags of words and features of one scale alone; ``off`` leaves all alone.
        metric: ``accuracy``, ``balanced_accuracy``, ``f1_macro``, ``roc_auc`` or ``average_precision``; used for tuning
            and by ``score``.
        class_weight: how much a node of each class counts in the loss: ``balanced``, so that every class
            counts alike, or a weight for some classes by name; None: all nodes count alike.
        threshold: of two classes, how to choose the probability from which on ``predict`` gives the rarer one:
            ``f1``, ``precision=0.9`` or ``recall=0.8``, on out-of-fold predictions; None: the more probable class.
        time_limit: seconds that ``fit`` may take, or None for no limit. When time runs out the best result so far is
            kept; it then depends on the speed of the machine.
        label_inputs: allow members that read the labels of training nodes as inputs; a node's own label is never shown
            where it is predicted or learned from. At prediction on the training graph all known labels are shown.
        transferable: leave out transductive settings (an adjacency branch, eigenvectors), so that the model can predict
            on other graphs; members do not read labels then.
        threads: number of threads; torch's number if not given.
        max_memory: the most memory that the process may hold while it fits, in bytes or as text such as ``2GB``, kept
            within 10%. Settings that need more are left out (``notes_`` says which), and others train fewer members at
            once. A limit that is too low is refused.
        regime: ``memory``, or ``out-of-core`` for graphs whose training does not fit in memory: features are
            propagated once and kept on disk, and one setting of NewtonNet, the defaults changed by ``settings``, is
            trained on them in batches of nodes. docs/scale.md says how the results differ.
        store: folder for the propagated features of out-of-core training; features of the same graph that are there
            already are used. A temporary folder if not given.
        device: where to train; only the CPU is tested.
        random_state: random seed of folds, start weights and dropout.

    Attributes:
        classes_: the classes, in the order of the columns of ``predict_proba``.
        n_features_in_: number of features.
        feature_names_in_: names of the features, if they came in a frame; ``predict`` then expects the same.
        tables_: how the columns of two tables were read, so that ``predict`` reads others alike; None without tables.
        ensemble_: the trained members and their weights.
        settings_: the settings in the average by descending weight, each with its ``weight`` and ``model``.
        tried_: number of settings tried.
        leaderboard_: the settings that were tried, those of the average first, then by score, each as a dict:
            ``model``, ``setting`` (how it differs from the model's defaults), ``score`` on the validation nodes of its
            ``folds``, ``seconds`` of training, and its ``weight`` in the average.
        out_of_fold_: labelled nodes as predicted by the members that were not trained on them.
        validation_score_: their mean score over the folds. Slightly optimistic, since training stopped at the epoch
            that was best for them; :func:`~newtonnet.cross_validate` gives an unbiased score.
        threshold_: the :class:`~newtonnet.metrics.Threshold` that was chosen; None without one.
        notes_: what was done to the features, in sentences.
        complete_: whether there was time for all settings but those that are for spare time.
        homophily_: learned h, the share of edges that join equal labels, where unknown labels are predicted.
        filter_: the :class:`~newtonnet.estimator.LearnedFilter` of the heaviest setting that has one, or of the best
            setting tried if the average has none; None for a model without a filter.
        filter_weight_: that setting's share of the average.
        history_: curves of its members: epoch, loss, train, validation, homophily.
        records_: the records of its members.
    """

    def __init__(
        self,
        model: str = "newtonnet",
        *,
        tune: str = "auto",
        standardise: str = "auto",
        settings: Mapping[str, Any] | None = None,
        folds: int | None = None,
        max_epochs: int = 1000,
        patience: int | None = 100,
        metric: str = "accuracy",
        class_weight: str | Mapping[str, float] | None = None,
        threshold: str | None = None,
        time_limit: float | None = 60.0,
        label_inputs: bool = True,
        transferable: bool = False,
        threads: int | None = None,
        max_memory: int | str | None = None,
        regime: str = "memory",
        store: str | PathLike[str] | None = None,
        device: str = "cpu",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.model = model
        self.tune = tune
        self.standardise = standardise
        self.settings = settings
        self.folds = folds
        self.max_epochs = max_epochs
        self.patience = patience
        self.metric = metric
        self.class_weight = class_weight
        self.threshold = threshold
        self.time_limit = time_limit
        self.label_inputs = label_inputs
        self.transferable = transferable
        self.threads = threads
        self.max_memory = max_memory
        self.regime = regime
        self.store = store
        self.device = device
        self.random_state = random_state

    def fit(
        self,
        graph: Any,
        y: ArrayLike | None = None,
        *,
        validation: ArrayLike | None = None,
        show_validation: bool = True,
        stop: Callable[[], bool] | None = None,
        progress: bool = False,
        on_epoch: OnEpoch | None = None,
        on_trial: OnTrial | None = None,
    ) -> Self:
        """Train on the labelled nodes.

        Args:
            graph: the graph.
            y: a label for each node, -1, None or NaN for unknown; or, of two tables, the column of the labels, and of a
                networkx graph the attribute (attributes are then read as columns, unless nodes have ``x``). The graph's
                own labels if not given: of two tables the column ``label``, of PyTorch Geometric data with masks only
                those of ``train_mask`` and ``val_mask``.
            validation: labelled nodes, as numbers or a mask, that only choose settings and epochs, as in a split by
                time; all other labelled nodes train. Without them, inner folds hold out every labelled node in turn.
            show_validation: whether members that read labels are also shown those of the validation nodes at
                prediction; published benchmarks do not.
            stop: called after every epoch; if it returns True, training stops and the best result so far is kept.
            progress: show a progress bar, in a terminal or a notebook.
            on_epoch: called after every epoch with a :class:`~newtonnet.training.Progress`: the step and its finished
                share, epoch, loss, homophily, and the best validation score so far.
            on_trial: called with a :class:`~newtonnet.estimator.TriedSetting` whenever a setting was trained, again if
                it trained on.

        Returns:
            The fitted classifier itself.
        """
        check_parameters(self.get_params())
        deadline = deadline_in(self.time_limit, stop)
        graph, y, reading = read_fitted(graph, y, standardise=self.standardise == AUTO)
        whole, classes = read_labels(graph, y, role="train")
        tuned = self._train(
            graph,
            whole,
            validation=validation,
            show_validation=show_validation,
            deadline=deadline,
            progress=progress,
            on_epoch=on_epoch,
            on_trial=on_trial,
            every_class=self.metric != "accuracy" or self.threshold is not None,
            reading=reading,
        )
        self.classes_ = classes
        self.threshold_ = None if self.threshold is None else self._choose_threshold(self.threshold, *tuned.sampled)
        predicted = tuned.probabilities.argmax(axis=1)
        self.homophily_ = homophily(whole, np.where(whole.labels >= 0, whole.labels, predicted)).edge
        return self

    def read(self, graph: Any, y: ArrayLike | None = None, *, role: Role | None = None) -> Graph:
        """The graph with labels: these, or its own of a role (see :meth:`fit` and :meth:`score`)."""
        return read_labels(graph, y, role=role)[0]

    def training_fields(self, graph: Graph) -> dict[str, Any]:
        """The weights of the classes."""
        weights = class_weights(self.class_weight, graph.labels, graph.class_names)
        return {} if weights is None else {"class_weight": tuple(weights.tolist())}

    def predict_proba(self, graph: Any) -> NDArray[np.float64]:
        """Probability of each class for every node, shape ``(n, C)``; columns in the order of ``classes_``."""
        return self._answers(self._checked(graph))

    def answers(self, graph: Any) -> NDArray[np.float64]:
        """The same as :meth:`predict_proba`."""
        return self.predict_proba(graph)

    def predict(self, graph: Any) -> NDArray[Any]:
        """The most probable class of every node, shape ``(n,)``, or that of the chosen threshold."""
        shares = self.predict_proba(graph)  # first, so that it is checked to be fitted
        return np.asarray(self.classes_[self.decide(shares)])

    def predict_frame(self, graph: Any) -> Any:
        """The predictions as a frame: ``node``, ``label``, ``probability``, and ``p(...)`` for each class.

        It is of the kind of the nodes' frame: pandas (with the same index), Polars or Arrow. For other graphs it is a
        pandas frame, or an Arrow table without pandas, and ``node`` has the names of the nodes, or their numbers.
        """
        whole = self._checked(graph)
        shares = self._answers(whole)
        key = None if self.tables_ is None else self.tables_.columns.id
        return prediction_frame(graph, whole, shares, self.decide(shares), self.classes_, key)

    def decide(self, probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
        """The place in ``classes_`` of the class that is predicted for each row of probabilities."""
        return decide(probabilities, self.threshold_)

    def predict_set(
        self,
        graph: Any,
        coverage: float = 0.9,
        *,
        locality: float = 0.0,
        probabilities: NDArray[np.float64] | None = None,
    ) -> NDArray[np.bool_]:
        """The classes that are plausible for every node, shape ``(n, C)``; columns in the order of ``classes_``.

        The true class is in the set of a node for about a share ``coverage`` of the nodes: a node is predicted by the
        members of one fold, and compared with the labelled nodes as predicted by members that were not trained on
        them. That holds for nodes of the same kind, drawn like the labelled
        ones. It is doubtful if they are of another time or another graph (then there is a warning), or if the
        validation nodes were chosen by the caller. Labelled nodes of the training graph have the sets of their
        out-of-fold predictions and the predicted class. See :func:`~newtonnet.estimator.conformal.prediction_sets`.

        Args:
            graph: the graph.
            coverage: share of the nodes whose set should hold their true class.
            locality: on the training graph, extra weight of a node's labelled neighbours, so that sets are larger in
                regions where the model errs.
            probabilities: what :meth:`predict_proba` gave, if that is known.
        """
        whole = self._checked(graph)
        held: OutOfFold | None = self.out_of_fold_
        if held is None:
            raise ValueError("this model has no out-of-fold predictions to calibrate sets with; fit it again")
        shares = self._answers(whole) if probabilities is None else probabilities.copy()
        nodes, own, truth = held.whole
        predicted = shares.argmax(axis=1)
        same = whole.structure == held.structure and nodes.max(initial=0) < whole.nodes
        if same and self.regime == IN_MEMORY:
            shares = self._by_one_fold(whole, held)
            own = shares[nodes]
        calibration = calibrate(set_scores(own)[np.arange(len(nodes)), truth], np.zeros(len(nodes)), nodes)
        if not same:
            if locality:
                raise ValueError("locality needs the graph that the model was fitted on")
            warnings.warn(ANOTHER_GRAPH, stacklevel=2)
            return prediction_sets(shares, calibration, coverage)
        shares[nodes] = own
        sets = prediction_sets(shares, calibration, coverage, adjacency=whole.adjacency, locality=locality)
        sets[np.arange(len(sets)), predicted] = True
        return sets

    def _by_one_fold(self, graph: Graph, held: OutOfFold) -> NDArray[np.float64]:
        """Calibrated probabilities of every node by the members of one fold, not trained on it, ``(n, C)``.

        A labelled node has its own fold, the others take turns. An average over all folds is better than the members
        that can be calibrated on labelled nodes, so that its sets would cover more than was asked for.
        """
        scaled = self._scaled(graph)
        folds = held_out_folds(self.ensemble_, held, graph.nodes)
        place = np.arange(graph.nodes) % len(folds)
        for number, fold in enumerate(folds):
            place[fold.nodes] = number
        shares = np.empty((graph.nodes, len(self.classes_)))
        for number, fold in enumerate(folds):
            inside = place == number
            shares[inside] = fold.probabilities(scaled, self.ensemble_.class_names, self._options())[inside]
        nodes, _, truth = held.whole
        return sharpened(shares, best_temperature(shares[nodes], truth))

    @overload
    def explain(
        self, graph: Any, node: int | str, *, probabilities: NDArray[np.float64] | None = None
    ) -> Explanation: ...

    @overload
    def explain(
        self, graph: Any, node: Sequence[int | str], *, probabilities: NDArray[np.float64] | None = None
    ) -> list[Explanation]: ...

    def explain(
        self,
        graph: Any,
        node: int | str | Sequence[int | str],
        *,
        probabilities: NDArray[np.float64] | None = None,
    ) -> Explanation | list[Explanation]:
        """Why the most probable class of a node and not the runner-up: contributions that sum to the difference.

        The members of the ensemble are explained each by the method that fits its kind; the explanation is their
        weighted sum (see :func:`~newtonnet.estimator.explaining.explain_ensemble`).

        Args:
            graph: the graph.
            node: number or name of a node, or several; the work that they share is done once.
            probabilities: what :meth:`predict_proba` gave, if that is known.

        Returns:
            A :class:`~newtonnet.explanations.Explanation`, or a list of them for several nodes.
        """
        whole = self._checked(graph)
        nodes, several = chosen_nodes(whole, node)
        shares = self._answers(whole) if probabilities is None else probabilities
        order = np.argsort(-shares[nodes], axis=1, kind="stable")
        pairs = [(a, b) for a, b in order[:, :2].tolist()]
        found = explain_ensemble(self.ensemble_, self._scaled(whole), nodes, pairs)
        names = tuple(getattr(self, "feature_names_in_", ()))
        found = [replace(one, feature_names=names) for one in found]
        return found if several else found[0]

    def score(self, graph: Any, y: ArrayLike | str | None = None) -> float:
        """The score by ``metric`` over the nodes whose label is known in ``y``, or in the column that it names.

        Set the labels of training nodes to -1; otherwise they count too. Without ``y`` the graph's own labels count,
        of PyTorch Geometric data with masks only those of ``test_mask``, or those that ``fit`` does not use.
        """
        check_is_fitted(self)
        graph, y = self._scored(graph, y)
        whole, theirs = read_labels(graph, y, role="score")
        check_feature_names(getattr(self, "feature_names_in_", None), graph)
        known = whole.labelled
        if len(known) == 0:
            raise ValueError("no node has a label to score on; give y")
        place = {str(name): code for code, name in enumerate(self.classes_.tolist())}
        unseen = [name for name in theirs[np.unique(whole.labels[known])].tolist() if str(name) not in place]
        if unseen:
            raise ValueError(f"label {unseen[0]!r} is not one of the classes {', '.join(place)}")
        codes = np.array([place.get(str(name), -1) for name in theirs.tolist()])
        shares = self.predict_proba(whole)[known]
        return score(self.metric, shares, codes[whole.labels[known]], threshold=self.threshold_)

    def _choose_threshold(self, rule: str, singles: Shares, average: Shares) -> Threshold:
        """The threshold by out-of-fold predictions, moved to the average, in which a rare class is more probable."""
        _, shares, truth = self.out_of_fold_.whole
        chosen = choose_threshold(rule, shares, truth)
        if not chosen.reached:
            known = int((truth == chosen.place).sum())
            self.notes_.append(
                f"{rule} cannot be promised from {known} held-out nodes of class {self.classes_[chosen.place]}; the "
                f"nearest threshold has precision {chosen.precision:.0%} and recall {chosen.recall:.0%} there."
            )
        return chosen.moved(singles, average)
