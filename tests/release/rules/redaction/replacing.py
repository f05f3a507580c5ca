"""What operators need from outside, for tests: nothing of it is secret."""

import hashlib
from dataclasses import dataclass, field

from annotations.release.rules.redaction.released import Mention
from annotations.text.spans import Bounds


@dataclass
class Told:
    """A `Replacing` whose answers the test knows."""

    language: str = "en"
    days: int = 20
    month_first: bool | None = None
    latest_year: int | None = None
    surrogates: dict[str, str] = field(default_factory=dict)
    numbers: dict[Bounds, int] = field(default_factory=dict)

    def hashed(self, mention: Mention) -> str:
        return hashlib.sha256(f"{mention.kind} {mention.text.casefold()}".encode()).hexdigest()[:12]

    def number(self, mention: Mention) -> int:
        return self.numbers.get((mention.start, mention.end), 1)

    def surrogate(self, mention: Mention) -> str:
        return self.surrogates.get(mention.text, "Chang")
