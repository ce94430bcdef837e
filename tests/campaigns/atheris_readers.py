"""Fuzz readers with atheris, which looks for inputs that reach new code: ``python atheris_readers.py CASES KIND...``.

Kinds are those of test_fuzz.py, each in a process of its own. Needs the package atheris; a finding ends with a
traceback and an exit code that is not 0.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["newtonnet"]):
    from newtonnet import NewtonNetClassifier, analyse, files, graphs, out_of_core, search, tables, training  # noqa: F401

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from test_fuzz import read, write_files  # noqa: E402


def fuzz(folder: Path, cases: str, path: Path, reader: Callable[[Path], object]) -> None:
    """Change a whole file again and again; does not return."""
    corpus = Path(tempfile.mkdtemp(dir=folder))
    (corpus / "whole").write_bytes(path.read_bytes())

    def one(data: bytes) -> None:
        path.write_bytes(data)
        read(lambda: reader(path))

    options = [f"-runs={cases}", "-rss_limit_mb=8192", "-max_len=65536", "-verbosity=0", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one)
    atheris.Fuzz()


def main() -> int:
    """Write whole files of all kinds, and fuzz the reader of each."""
    cases, *kinds = sys.argv[1:]
    folder = Path(tempfile.mkdtemp())
    os.environ["NEWTONNET_CACHE"] = str(folder / "cache")
    spec: dict[str, Any] = {}
    exec((Path(__file__).parents[1] / "conftest.py").read_text(), spec)  # two files have that name
    own = spec["write_tables"](folder / "own").folder
    fast = NewtonNetClassifier(tune="off", max_epochs=3, threads=1)
    made = analyse(own / "nodes.csv", own / "edges.csv", label_column="kind", classifier=fast, folds=0)
    files, failed = write_files(folder, made, spec["write_tables"]), 0
    for kind in kinds:
        before = files[kind][0].read_bytes()
        if (child := os.fork()) == 0:
            fuzz(folder, cases, *files[kind])
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        files[kind][0].write_bytes(before)
        failed |= code != 0
        print(f"{kind}: {cases} cases, exit code {code}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
