"""A run half done, on disk: tensors by safetensors, a fingerprint of what they belong to, no pickle."""

import json
from collections.abc import Mapping
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from newtonnet.files import whole_file


def save_checkpoint(path: Path, tensors: Mapping[str, Tensor], *, fingerprint: str) -> None:
    """Write the state of a run, whole or not at all."""
    with whole_file(path) as temporary:
        contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        save_file(contiguous, temporary, metadata={"newtonnet": json.dumps({"fingerprint": fingerprint})})


def load_checkpoint(path: Path, *, fingerprint: str) -> dict[str, Tensor]:
    """Read the state back; refused where it belongs to another run or the file is damaged."""
    try:
        with safe_open(path, framework="pt") as file:
            found = json.loads((file.metadata() or {}).get("newtonnet", "{}")).get("fingerprint")
            if found != fingerprint:
                raise ValueError(
                    f"checkpoint {path} belongs to another run (other data, settings or version); "
                    "remove it or name another file"
                )
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, OSError) as error:
        raise ValueError(f"checkpoint {path} is damaged or no file ({error}); remove it and train again") from error
