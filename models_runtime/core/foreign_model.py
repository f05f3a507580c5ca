from dataclasses import dataclass


@dataclass(frozen=True)
class Foreign:
    """Somebody else's model. `backend` is the key of what runs it; `labels` are those that its spans may carry.

    `path` is what it is loaded by; `told` is its own description; `folder`: it was put here by hand.
    """

    backend: str
    name: str
    path: str
    labels: tuple[str, ...]
    language: str = ""
    version: str = ""
    told: str = ""
    folder: bool = True
