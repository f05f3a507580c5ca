"""Published F1 of the count-based score of rewritten text, to stand beside scores counted by the same rule.

Of Miranda et al. 2025, table 2, these are the figures that the text of section 4.4 repeats. It gives 0.65 as the lowest
figure of gemma3:12b without naming its type; the other two types have higher ones, so it is that of dates.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PublishedCounts:
    """The F1 of one model by type, for the types of `TYPES` that the text mentions."""

    model: str
    f1: dict[str, float]


CORPUS: Final = "80 Italian clinical notes"
TYPES: Final = ("NOME", "LUOGO/INDIRIZZO", "DATA")
SOURCE: Final = "Miranda et al. 2025, table 2, as repeated in section 4.4"
COUNTED: Final = (
    PublishedCounts("gemma3:1b", {"DATA": 0.12}),
    PublishedCounts("gemma3:4b", {"NOME": 0.73, "LUOGO/INDIRIZZO": 0.75, "DATA": 0.27}),
    PublishedCounts("gemma3:12b", {"NOME": 0.81, "LUOGO/INDIRIZZO": 0.88, "DATA": 0.65}),
    PublishedCounts("mistral:7b", {"NOME": 0.77, "DATA": 0.37}),
    PublishedCounts("phi4:14b", {"DATA": 0.33}),
)
