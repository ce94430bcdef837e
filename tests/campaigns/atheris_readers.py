"""Fuzz a reader with atheris, which looks for inputs that reach new code: ``python atheris_readers.py KIND CASES``.

Kinds are those of test_fuzz.py. Needs the package atheris; a finding ends it with a traceback and exit code 77.
"""

import os
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["newtonnet"]):
    from newtonnet import NewtonNetClassifier, analyse, files, graphs, out_of_core, search, tables, training  # noqa: F401

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from test_fuzz import read, write_files  # noqa: E402


def main() -> None:
    """Write a whole file of the kind, and change it again and again."""
    kind, cases = sys.argv[1:]
    folder = Path(tempfile.mkdtemp())
    os.environ["NEWTONNET_CACHE"] = str(folder / "cache")
    spec = {}
    exec((Path(__file__).parents[1] / "conftest.py").read_text(), spec)  # two files have that name
    own = spec["write_tables"](folder / "own").folder
    fast = NewtonNetClassifier(tune="off", max_epochs=3, threads=1)
    made = analyse(own / "nodes.csv", own / "edges.csv", label_column="kind", classifier=fast, folds=0)
    path, reader = write_files(folder, made, spec["write_tables"])[kind]
    (folder / "corpus").mkdir()
    (folder / "corpus" / "whole").write_bytes(path.read_bytes())

    def one(data: bytes) -> None:
        path.write_bytes(data)
        read(lambda: reader(path))

    options = [f"-runs={cases}", "-rss_limit_mb=8192", "-max_len=65536", "-verbosity=0", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *options, str(folder / "corpus")], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
