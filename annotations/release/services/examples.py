"""An example of what a rule does, for the editor of policies."""

import hashlib
from dataclasses import dataclass

from annotations.release.rules.redaction.kinds import Kind
from annotations.release.rules.redaction.policy import Policy, Rule, actions_for
from annotations.release.rules.redaction.released import Mention
from annotations.release.rules.redaction.releasing import release_text
from annotations.text.spans import Span

# Examples of identifiers of each kind, for the editor of policies. All are invented.


EXAMPLES: dict[Kind, tuple[str, str]] = {
    Kind.NAME: ("Maria Rossi", "Laura Conti"),
    Kind.STAFF: ("Dr. Adam Wilson", "Dr. Kevin Chang"),
    Kind.USERNAME: ("mrossi84", "lconti51"),
    Kind.AGE: ("93", "93"),
    Kind.DATE: ("12/03/2021", "29/04/2021"),
    Kind.PROFESSION: ("teacher", "accountant"),
    Kind.HOSPITAL: ("San Giovanni Hospital", "Santa Lucia Hospital"),
    Kind.ORGANIZATION: ("Northwind Ltd", "Bluewater Ltd"),
    Kind.STREET: ("12 Garden Street", "48 Mill Lane"),
    Kind.ZIP: ("10126", "40121"),
    Kind.CITY: ("Torino", "Bologna"),
    Kind.REGION: ("Piemonte", "Emilia-Romagna"),
    Kind.COUNTRY: ("Italy", "France"),
    Kind.LOCATION: ("Lake Orta", "Lake Iseo"),
    Kind.PHONE: ("011 555 0142", "051 555 0187"),
    Kind.FAX: ("011 555 0143", "051 555 0188"),
    Kind.EMAIL: ("maria.rossi@example.org", "laura.conti@example.org"),
    Kind.URL: ("https://rossi.example.org", "https://conti.example.org"),
    Kind.IP: ("192.0.2.44", "198.51.100.17"),
    Kind.NATIONAL_ID: ("078-05-1120", "219-09-9999"),
    Kind.RECORD: ("MRN 4471203", "MRN 8820156"),
    Kind.HEALTH_PLAN: ("HP-55-01928", "HP-71-33408"),
    Kind.ACCOUNT: ("ACC 7719-02", "ACC 3305-48"),
    Kind.LICENSE: ("LIC 28391", "LIC 60417"),
    Kind.VEHICLE: ("AB 123 CD", "FE 806 KM"),
    Kind.DEVICE: ("SN 0091-A7", "SN 5520-C3"),
    Kind.BIOMETRIC: ("iris template 17", "iris template 52"),
    Kind.ID: ("ID 90210-7", "ID 36418-2"),
    Kind.SEX: ("woman", "woman"),
    Kind.FAMILY: ("her brother", "her brother"),
    Kind.ETHNICITY: ("Sami", "Frisian"),
    Kind.OTHER: ("the red house", "other detail"),
}
"""For each kind an identifier and a possible surrogate."""


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
