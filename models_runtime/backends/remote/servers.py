"""The allowed servers of models, from the environment. A run refers to a server by its name, never by its address.

    DEIDREVIEW_REMOTE_MODELS="ner=inception+http://127.0.0.1:5000/spacy_ner studio=label-studio+https://ml.example.org/"
    DEIDREVIEW_REMOTE_NER_LABELS="PER LOC ORG"
    DEIDREVIEW_REMOTE_STUDIO_KEY, _USER (with it, HTTP basic authentication), _AT_ONCE (simultaneous requests of a
    worker), _SECONDS (time limit of a request), _BATCH (notes in a request; label-studio only)

Neither protocol has a request for the labels of a model, so the list names them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from annotations.text.names import bad_character
from annotations.text.wording import WordedError
from models_runtime.backends.listed import ListedServer, Variables, http_address

PREFIX: Final = "DEIDREVIEW_REMOTE_"
LIST: Final = f"{PREFIX}MODELS"
INCEPTION: Final = "inception"
LABEL_STUDIO: Final = "label-studio"
PROTOCOLS: Final = {INCEPTION: "INCEpTION", LABEL_STUDIO: "Label Studio"}
_OPTIONS: Final = ("LABELS", "KEY", "USER", "AT_ONCE", "SECONDS", "BATCH")


@dataclass(frozen=True)
class RemoteModel(ListedServer):
    """A server with one model. `labels` are the model's own.

    `key_variable`: the environment variable with the key. The key itself is not stored here. With a `user`, it is the
    password of HTTP basic authentication.
    """

    protocol: str
    labels: tuple[str, ...]
    key_variable: str = ""
    user: str = ""
    at_once: int = 4
    seconds: int = 120
    batch: int = 1

    @property
    def labels_variable(self) -> str:
        return f"{PREFIX}{self.name.upper().replace('-', '_')}_LABELS"


def read_remote_models(environ: Mapping[str, str]) -> dict[str, RemoteModel]:
    """The servers by name. Raises ValueError with the name of the variable and its allowed values."""
    variables = Variables(PREFIX, LIST, _OPTIONS, environ)
    return {name: _model(name, address, variables) for name, address in variables.addresses().items()}


def _model(name: str, address: str, variables: Variables) -> RemoteModel:
    protocol, _, url = address.partition("+")
    if protocol not in PROTOCOLS or http_address(url) is None:
        raise ValueError(
            f"{LIST}: The address of “{name}” must be inception+http(s)://host[:port]/path or "
            "label-studio+http(s)://host[:port]/path, without user, ? or #."
        )
    labels = variables.words(name, "LABELS")
    if not labels or any(map(bad_character, labels)) or any(len(label) > 80 for label in labels):
        raise ValueError(
            f"{variables.name(name, 'LABELS')}: List the labels of the model “{name}”, with spaces between them. "
            "A label has at most 80 characters."
        )
    if protocol == INCEPTION and variables.value(name, "BATCH"):
        raise ValueError(f"{variables.name(name, 'BATCH')}: This protocol has one note in a request. Leave it empty.")
    if variables.value(name, "USER") and not variables.value(name, "KEY"):
        raise ValueError(f"{variables.name(name, 'KEY')}: Set the password of the user, or leave out the user.")
    return RemoteModel(
        name=name,
        url=url,
        protocol=protocol,
        labels=tuple(sorted(set(labels))),
        key_variable=variables.name(name, "KEY") if variables.value(name, "KEY") else "",
        user=variables.value(name, "USER"),
        at_once=variables.number(name, "AT_ONCE", 4, 64),
        seconds=variables.number(name, "SECONDS", 120, 3600),
        batch=variables.number(name, "BATCH", 8, 64) if protocol == LABEL_STUDIO else 1,
    )


# What the two protocols have in common: their errors.


class MalformedMessage(WordedError, ValueError):
    """A message that doesn't follow the protocol. The message is a sentence without text of a note."""


class UnknownLabel(MalformedMessage):
    """A span has a label that the list of the model's labels lacks."""
