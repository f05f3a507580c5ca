"""Events of models that are served to other tools."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class ModelServed(TypedDict):
    """The key of the backend, as runs store it, and the protocol."""

    backend: str
    protocol: str


MODEL_SERVED = Verb[ModelServed]("model.served", _("began to serve a model to other tools"), reading=True)
