import json
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from newtonnet import NewtonNetClassifier
from newtonnet.datasets import csbm
from newtonnet.estimator import saving
from newtonnet.training import checkpoint, write_tensors

QUICK = {"max_epochs": 8, "folds": 2, "threads": 1}


@pytest.fixture(scope="module")
def graph():
    return csbm(0.1, nodes=120, features=20, seed=4)


@pytest.fixture(scope="module")
def animals(graph):
    return [None if i % 3 == 0 else ("cat", "dog")[label] for i, label in enumerate(graph.labels)]


@pytest.fixture(scope="module")
def fitted(graph, animals):
    settings = {"points": "density", "degree": 4}
    return NewtonNetClassifier(time_limit=None, settings=settings, random_state=np.int64(3), **QUICK).fit(
        graph, animals
    )


@pytest.fixture
def file(fitted, tmp_path):
    path = tmp_path / "model.safetensors"
    fitted.save(path)
    return path


def parts(path):
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118


def test_a_loaded_model_predicts_the_same_bits_and_knows_the_same(file, fitted, graph):
    loaded = NewtonNetClassifier.load(file)
    np.testing.assert_array_equal(loaded.predict_proba(graph), fitted.predict_proba(graph))
    np.testing.assert_array_equal(loaded.predict(graph), fitted.predict(graph))
    assert loaded.get_params() == fitted.get_params()
    assert loaded.classes_.dtype == fitted.classes_.dtype
    np.testing.assert_array_equal(loaded.filter_.responses, fitted.filter_.responses)
    assert loaded.settings_ == fitted.settings_
    for name in (
        "homophily_",
        "filter_weight_",
        "history_",
        "tried_",
        "validation_score_",
        "complete_",
        "n_features_in_",
    ):
        assert getattr(loaded, name) == getattr(fitted, name), name


def test_the_model_of_a_run_folder_is_found(file, fitted, graph):
    again = NewtonNetClassifier.load(file.parent)
    np.testing.assert_array_equal(again.predict_proba(graph), fitted.predict_proba(graph))


def test_a_loaded_model_can_be_saved_and_fitted_again(file, tmp_path, graph, animals, fitted):
    loaded = NewtonNetClassifier.load(file)
    loaded.save(tmp_path / "again.safetensors")
    assert parts(tmp_path / "again.safetensors")[1] == parts(file)[1]
    np.testing.assert_array_equal(loaded.fit(graph, animals).predict_proba(graph), fitted.predict_proba(graph))


@pytest.mark.parametrize("name", ["gcn", "linkx", "glognn++", "newton-stack", "jacobiconv"])
def test_every_kind_of_model_comes_back(name, graph, animals, tmp_path):
    model = NewtonNetClassifier(name, tune="off", **QUICK).fit(graph, animals)
    model.save(tmp_path / "m")
    loaded = NewtonNetClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(graph), model.predict_proba(graph))


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.99])
def test_a_file_that_was_cut_short_is_refused(file, share):
    whole = file.read_bytes()
    file.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match="not a complete model file"):
        NewtonNetClassifier.load(file)


def test_a_changed_weight_is_noticed(file):
    tensors, header = parts(file)
    name = sorted(tensors)[0]
    tensors[name].view(-1)[0] += 1e-3
    save_file(tensors, file, metadata=header)
    with pytest.raises(ValueError, match="its checksum differs"):
        NewtonNetClassifier.load(file)


def test_a_changed_header_is_noticed(file):
    tensors, header = parts(file)
    described = json.loads(header["newtonnet"])
    described["class_names"] = ["dog", "cat"]
    save_file(tensors, file, metadata={**header, "newtonnet": json.dumps(described)})
    with pytest.raises(ValueError, match="its checksum differs"):
        NewtonNetClassifier.load(file)


def test_a_flipped_byte_is_noticed(file):
    whole = bytearray(file.read_bytes())
    start = 8 + struct.unpack("<Q", whole[:8])[0]
    whole[(start + len(whole)) // 2] ^= 1
    file.write_bytes(whole)
    with pytest.raises(ValueError, match="its checksum differs"):
        NewtonNetClassifier.load(file)


def test_a_newer_file_is_refused_and_says_what_to_do(file, fitted, monkeypatch):
    monkeypatch.setattr(saving, "FORMAT", saving.FORMAT + 1)
    fitted.save(file)
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"has format 3, this version reads up to 2; install a newer newtonnet"):
        NewtonNetClassifier.load(file)


def test_a_file_of_another_version_that_lacks_something_is_refused(file):
    tensors, header = parts(file)
    described = json.loads(header["newtonnet"])
    del described["temperature"]
    text = json.dumps(described)
    save_file(tensors, file, metadata={"newtonnet": text, "checksum": checkpoint._checksum(text, tensors)})
    with pytest.raises(ValueError, match=r"does not fit this version .'temperature'.; fit and save the model again"):
        NewtonNetClassifier.load(file)


def test_files_keep_the_names_of_their_format_and_both_spellings_are_read(graph, animals, tmp_path):
    model = NewtonNetClassifier(regime="out-of-core", time_limit=30, max_epochs=2, folds=2, threads=1)
    model.fit(graph, animals).save(tmp_path / "model")
    tensors, header = parts(tmp_path / "model")
    described = json.loads(header["newtonnet"])
    assert described["format"] == 2
    assert (described["parameters"]["time_budget"], described["parameters"]["regime"]) == (30, "precomputed")
    described["parameters"] |= {"time_limit": described["parameters"].pop("time_budget"), "regime": "out-of-core"}
    text = json.dumps(described)
    metadata = {"newtonnet": text, "checksum": checkpoint._checksum(text, tensors)}
    save_file(tensors, tmp_path / "other", metadata=metadata)
    for name in ("model", "other"):
        loaded = NewtonNetClassifier.load(tmp_path / name)
        assert (loaded.time_limit, loaded.regime) == (30, "out-of-core")
        np.testing.assert_array_equal(loaded.predict_proba(graph), model.predict_proba(graph))


def test_files_of_the_first_format_are_read(file, fitted, graph):
    tensors, header = parts(file)
    described = json.loads(header["newtonnet"])
    described["format"] = 1
    for name in ("structure", "out_of_fold", "notes"):
        del described[name]
    del described["parameters"]["standardise"], described["parameters"]["label_inputs"]
    tensors = {name: tensor for name, tensor in tensors.items() if name[0].isdigit()}
    write_tensors(file, json.dumps(described), tensors)
    loaded = NewtonNetClassifier.load(file)
    np.testing.assert_array_equal(loaded.predict_proba(graph), fitted.predict_proba(graph))
    assert (loaded.scaling_, loaded.out_of_fold_, loaded.notes_) == (None, None, [])


def test_other_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a file"):
        NewtonNetClassifier.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="is not a file"):
        NewtonNetClassifier.load(tmp_path)
    save_file({"a": torch.zeros(1)}, tmp_path / "other")
    with pytest.raises(ValueError, match="safetensors file of something else"):
        NewtonNetClassifier.load(tmp_path / "other")
    save_file({"a": torch.zeros(1)}, tmp_path / "odd", metadata={"newtonnet": "{"})
    with pytest.raises(ValueError, match=r"the header of .* cannot be read"):
        NewtonNetClassifier.load(tmp_path / "odd")


def test_a_model_that_cannot_be_written_leaves_the_old_one(file, fitted, monkeypatch):
    before = file.read_bytes()

    def broken(path, data):
        with path.open("wb") as stream:
            stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", broken)
    with pytest.raises(OSError, match="No space left"):
        fitted.save(file)
    assert file.read_bytes() == before
    assert {path.name for path in file.parent.iterdir()} == {file.name, "model_card.md"}


def forge(path, change, tensors=None):
    """Change what a file says and give it the checksum of that, as only a hostile program does."""
    stored, header = parts(path)
    described = json.loads(header["newtonnet"])
    change(described)
    write_tensors(path, json.dumps(described), stored if tensors is None else tensors)


@pytest.mark.parametrize("change", [{"kind": "\n"}, {"members": "\n"}, {"parameters": {"a\nb": 1}}], ids=str)
def test_a_forged_header_cannot_break_the_line_of_its_refusal(change, file):
    forge(file, lambda described: described.update(change))
    with pytest.raises(ValueError, match=r"^[^\n]*$"):
        NewtonNetClassifier.load(file)


FORGED = {
    "a width": lambda about: about["members"][0]["options"].update(hidden=10**9),
    "a degree": lambda about: about["members"][0]["options"].update(degree=10**6),
    "a type": lambda about: about["classes"].update(type="<U1000000000"),
    "a structured type": lambda about: about["classes"].update(type="i4,O"),
    "more classes": lambda about: about["classes"].update(values=["a", "b", "c"]),
    "no members": lambda about: about.update(members=[]),
    "a weight": lambda about: about["members"][0].update(weight=float("1e308")),
    "a temperature": lambda about: about.update(temperature=0),
    "a text for a number": lambda about: about.update(temperature="1"),
    "a list for an object": lambda about: about.update(learned=[]),
    "no records": lambda about: about.update(records=[]),
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_header_is_refused_before_memory_is_asked_for(forged, file):
    forge(file, FORGED[forged])
    with pytest.raises(ValueError, match="does not fit this version"):
        NewtonNetClassifier.load(file)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(number, file):
    tensors, _ = parts(file)
    tensors[sorted(tensors)[0]].view(-1)[0] = number
    forge(file, lambda about: None, tensors)
    with pytest.raises(ValueError, match="not finite"):
        NewtonNetClassifier.load(file)


def test_tensors_are_never_broadcast_or_left_out(file, graph):
    for change in (lambda tensor: tensor.flatten()[:1], lambda tensor: None):
        tensors, _ = parts(file)
        name = sorted(tensors)[0]
        changed = change(tensors.pop(name))
        forge(file, lambda about: None, tensors if changed is None else tensors | {name: changed})
        with pytest.raises(ValueError, match="do not fit its options"):
            NewtonNetClassifier.load(file).predict_proba(graph)


def test_a_model_file_does_not_choose_where_predictions_write(graph, animals, tmp_path):
    model = NewtonNetClassifier(regime="out-of-core", max_epochs=2, folds=2, threads=1, store=tmp_path / "store")
    model.fit(graph, animals).save(tmp_path / "model")
    forge(tmp_path / "model", lambda about: about["parameters"].update(store=str(tmp_path / "elsewhere")))
    loaded = NewtonNetClassifier.load(tmp_path / "model")
    assert loaded.store is None
    np.testing.assert_array_equal(loaded.predict_proba(graph), model.predict_proba(graph))
    assert not (tmp_path / "elsewhere").exists()
