"""A patient master as it is read from a file: people by patient id, and what could not be read."""

from dataclasses import dataclass, field, replace
from typing import Final

from annotations.release.rules.known.person import FIELDS, MasterPerson
from annotations.text.names import unkeepable

# The longest patient id, and the longest value of a field, in code points.
LONGEST_ID: Final = 80
LONGEST_VALUE: Final = 400
# The most values of one field of a person. Looking for more would make every note of the patient slow.
MOST_VALUES: Final = 100


class MasterError(ValueError):
    """A file that is no patient master. The message is a sentence that names columns or lines, never a value."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a row: its number in the file, from 1, the column or field, and a code of PROBLEMS."""

    row: int
    column: str
    code: str


@dataclass
class Master:
    """What a file holds. `rows`: rows or resources read; `columns`: the field of each column or, for FHIR, element.

    `unknown` are columns whose names say nothing; their values are not kept.
    """

    people: dict[str, MasterPerson] = field(default_factory=dict)
    rows: int = 0
    columns: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    delimiter: str = ""
    encoding: str = ""

    def add(self, patient: str, person: MasterPerson, row: int) -> None:
        """Add a row. Several rows of one patient are put together."""
        self.rows += 1
        patient = patient.strip()
        if not patient:
            self.problems.append(Problem(row, "patient_id", "no id"))
        elif len(patient) > LONGEST_ID or unkeepable(patient):
            self.problems.append(Problem(row, "patient_id", "bad id"))
        else:
            known = self.people.get(patient)
            self.people[patient] = self._kept(together(known, person) if known else person, row)

    def _kept(self, person: MasterPerson, row: int) -> MasterPerson:
        """The person without values that can't be kept, each field with at most MOST_VALUES of them."""
        less: dict[str, tuple[str, ...]] = {}
        for name in FIELDS:
            values: tuple[str, ...] = getattr(person, name)
            good = tuple(value for value in values if is_keepable(value))
            if len(good) < len(values):
                self.problems.append(Problem(row, name, "value"))
            if len(good) > MOST_VALUES:
                self.problems.append(Problem(row, name, "many"))
            if len(values) > len(good) or len(good) > MOST_VALUES:
                less[name] = good[:MOST_VALUES]
        return replace(person, **less) if less else person


def is_keepable(value: str) -> bool:
    """Whether a value is short enough and text."""
    return len(value) <= LONGEST_VALUE and not unkeepable(value)


def together(one: MasterPerson, other: MasterPerson) -> MasterPerson:
    """Both people's values, without repetitions."""
    joined = {name: tuple(dict.fromkeys((*getattr(one, name), *getattr(other, name)))) for name in FIELDS}
    return replace(one, **joined)
