"""An example of what a rule does, for the editor of policies."""

import hashlib
from dataclasses import dataclass

from annotations.release.rules.redaction.policy import Policy, Rule, actions_for
from annotations.release.rules.redaction.released import Mention
from annotations.release.rules.redaction.releasing import release_text
from annotations.release.selectors.examples import EXAMPLES
from annotations.text.spans import Span

LABEL = "EXAMPLE"


@dataclass(frozen=True)
class Example:
    """An invented identifier, and what the release has in its place; empty where it is removed."""

    before: str
    after: str


class _Invented:
    """What operators need, for an invented note in English."""

    language = "en"
    days = 48
    month_first = None
    latest_year = None

    def hashed(self, mention: Mention) -> str:
        return hashlib.sha256(mention.text.encode()).hexdigest()[:16]

    def number(self, mention: Mention) -> int:
        return 1

    def surrogate(self, mention: Mention) -> str:
        return EXAMPLES[mention.kind][1]


def example_of(rule: Rule, placeholder: str) -> Example | None:
    """What the rule does with an identifier of its kind; None where the rule is not possible."""
    if rule.action not in actions_for(rule.kind):
        return None
    text = EXAMPLES[rule.kind][0]
    spans, policy = [Span(0, len(text), LABEL)], Policy({LABEL: rule})
    released = release_text(text, spans, policy, {LABEL: placeholder}, _Invented())
    return Example(text, released.text)
