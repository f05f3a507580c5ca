"""spaCy's named entity recognizer, trained from a blank pipeline on a project's gold standard."""

import sys


def _spacy_without_torch() -> None:
    """Import spaCy without torch. thinc imports torch if installed, which takes seconds and hundreds of megabytes.

    Nothing changes in a process that has already imported spaCy or torch.
    """
    if "spacy" in sys.modules or "torch" in sys.modules:
        return
    sys.modules["torch"] = None  # type: ignore[assignment]  # this makes “import torch” fail
    try:
        import spacy  # noqa: F401 - imported for its side effect
    finally:
        del sys.modules["torch"]


_spacy_without_torch()
