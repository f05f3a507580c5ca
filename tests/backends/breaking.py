"""A backend that fails for some texts."""

from collections.abc import Sequence

from annotations.text.spans import Span
from models_runtime.backends import BackendError
from models_runtime.backends.base import Budget


class Breaks:
    """Marks the whole text, fails for texts with “error”, “end” and “bug”, and keeps the sizes of its batches."""

    name, revision, label_set, labels = "breaks", "1", "test", ("ALL", "WHOLE")
    budget = Budget(notes=3, tokens=50)
    sizes: list[int] = []

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        self.sizes.append(len(texts))
        if any("error" in text for text in texts):
            raise BackendError("The server did not answer.", permanent=False)
        if any("end" in text for text in texts):
            raise BackendError("The weights are gone.")
        if any("bug" in text for text in texts):
            raise ValueError(texts[0])
        return [[Span(0, len(text), "ALL", 0.5), Span(0, len(text), "WHOLE", 0.5)] for text in texts]


class Many(Breaks):
    """The same with larger batches."""

    budget = Budget(notes=64)
