"""Examples for prompts, with invented notes and the labels of a project (Xu et al. 2026, appendix A.1)."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.evidence import families_of
from models_runtime.backends.llm.prompts import LabelWord, Shot
from models_runtime.backends.rules import labels as rule_labels
from models_runtime.backends.rules.kinds import RuleKind


def shots_of(language: str, labels: Sequence[LabelWord], label_set: str) -> list[Shot]:
    """The examples of a language (`prompts/examples.<language>.json`); identifiers without a label are left out."""
    try:
        table: Mapping[RuleKind, str | None] = rule_labels.table(label_set)
    except BackendError:
        table = {}
    codes = {label.code for label in labels}
    families = {label.code: families_of(label, label_set) for label in labels}

    def code_of(kind: str) -> str | None:
        code = table.get(RuleKind(kind))
        alone = (one for one, each in families.items() if each == {kind.partition(".")[0]})
        return code if code in codes else next(alone, None)

    file = Path(__file__).with_name("prompts") / f"examples.{language}.json"
    return [
        Shot(each["text"], [(words, code) for words, kind in each["identifiers"] if (code := code_of(kind))])
        for each in json.loads(file.read_text(encoding="utf-8"))
    ]
