from dataclasses import dataclass

from models_runtime.backends.listed import Listed


@dataclass(frozen=True)
class ExternalModel:
    """A model that was trained elsewhere. `backend` is the key of its backend; `labels` are the model's own labels.

    `zero_shot`: it has no labels of its own, and finds what words of the project describe.

    `path` is the package or folder that it is loaded from; `folder` tells whether it is a folder. A model on another
    server has a `server` in place of a path.
    """

    backend: str
    name: str
    path: str
    labels: tuple[str, ...]
    language: str = ""
    version: str = ""
    description: str = ""
    folder: bool = True
    server: Listed | None = None
    zero_shot: bool = False
