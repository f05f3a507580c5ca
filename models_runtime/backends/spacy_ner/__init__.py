"""spaCy's named entity recognition, trained from blank on a project's gold."""

import sys


def _spacy_without_torch() -> None:
    """thinc imports torch wherever it is installed: many seconds and hundreds of megabytes, of which nothing is used.

    A process that has spaCy in it already is left as it is.
    """
    if "spacy" in sys.modules or "torch" in sys.modules:
        return
    sys.modules["torch"] = None  # type: ignore[assignment]  # how an import is refused
    try:
        import spacy  # noqa: F401 - for what it imports
    finally:
        del sys.modules["torch"]


_spacy_without_torch()
