"""An example of what a rule does, for the editor of policies."""

import hashlib
from dataclasses import dataclass

from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.redaction.policy import LabelRule, Policy, actions_for
from annotations.release.rules.redaction.released import Mention
from annotations.release.rules.redaction.releasing import release_text
from annotations.text.spans import Span

# Examples of identifiers of each kind, for the editor of policies. All are invented.


EXAMPLES: dict[IdentifierType, tuple[str, str]] = {
    IdentifierType.NAME: ("Maria Rossi", "Laura Conti"),
    IdentifierType.STAFF: ("Dr. Adam Wilson", "Dr. Kevin Chang"),
    IdentifierType.USERNAME: ("mrossi84", "lconti51"),
    IdentifierType.AGE: ("93", "93"),
    IdentifierType.DATE: ("12/03/2021", "29/04/2021"),
    IdentifierType.PROFESSION: ("teacher", "accountant"),
    IdentifierType.HOSPITAL: ("San Giovanni Hospital", "Santa Lucia Hospital"),
    IdentifierType.ORGANIZATION: ("Northwind Ltd", "Bluewater Ltd"),
    IdentifierType.STREET: ("12 Garden Street", "48 Mill Lane"),
    IdentifierType.ZIP: ("10126", "40121"),
    IdentifierType.CITY: ("Torino", "Bologna"),
    IdentifierType.REGION: ("Piemonte", "Emilia-Romagna"),
    IdentifierType.COUNTRY: ("Italy", "France"),
    IdentifierType.LOCATION: ("Lake Orta", "Lake Iseo"),
    IdentifierType.PHONE: ("011 555 0142", "051 555 0187"),
    IdentifierType.FAX: ("011 555 0143", "051 555 0188"),
    IdentifierType.EMAIL: ("maria.rossi@example.org", "laura.conti@example.org"),
    IdentifierType.URL: ("https://rossi.example.org", "https://conti.example.org"),
    IdentifierType.IP: ("192.0.2.44", "198.51.100.17"),
    IdentifierType.NATIONAL_ID: ("078-05-1120", "219-09-9999"),
    IdentifierType.RECORD: ("MRN 4471203", "MRN 8820156"),
    IdentifierType.HEALTH_PLAN: ("HP-55-01928", "HP-71-33408"),
    IdentifierType.ACCOUNT: ("ACC 7719-02", "ACC 3305-48"),
    IdentifierType.LICENSE: ("LIC 28391", "LIC 60417"),
    IdentifierType.VEHICLE: ("AB 123 CD", "FE 806 KM"),
    IdentifierType.DEVICE: ("SN 0091-A7", "SN 5520-C3"),
    IdentifierType.BIOMETRIC: ("iris template 17", "iris template 52"),
    IdentifierType.ID: ("ID 90210-7", "ID 36418-2"),
    IdentifierType.SEX: ("woman", "woman"),
    IdentifierType.FAMILY: ("her brother", "her brother"),
    IdentifierType.ETHNICITY: ("Sami", "Frisian"),
    IdentifierType.OTHER: ("the red house", "other detail"),
}
"""For each kind an identifier and a possible surrogate."""


LABEL = "EXAMPLE"


@dataclass(frozen=True)
class PolicyExample:
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


def example_of(rule: LabelRule, placeholder: str) -> PolicyExample | None:
    """What the rule does with an identifier of its kind; None where the rule is not possible."""
    if rule.action not in actions_for(rule.kind):
        return None
    text = EXAMPLES[rule.kind][0]
    spans, policy = [Span(0, len(text), LABEL)], Policy({LABEL: rule})
    released = release_text(text, spans, policy, {LABEL: placeholder}, _Invented())
    return PolicyExample(text, released.text)
