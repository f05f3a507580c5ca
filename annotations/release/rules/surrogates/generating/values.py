"""New values that are one text: numbers, codes, telephone numbers, addresses and ages."""

import re

from annotations.release.rules.redaction.kinds import Kind
from annotations.release.rules.surrogates.contacts import example_domain, new_ip, new_phone
from annotations.release.rules.surrogates.generating.accounts import new_account, new_url
from annotations.release.rules.surrogates.generating.words import Words
from annotations.release.rules.surrogates.identifiers import new_number
from annotations.release.rules.surrogates.scrambling import digits


def new_value(words: Words, kind: Kind, text: str) -> str:
    """Another value of a kind in the format of the text."""
    if kind in (Kind.PHONE, Kind.FAX):
        return new_phone(words.source, text, words.language)
    if kind == Kind.EMAIL:
        local, at, domain = text.strip().partition("@")
        if not at:
            return new_account(words, local)
        return f"{new_account(words, local)}@{example_domain(domain)}"
    if kind == Kind.USERNAME:
        return new_account(words, text.strip())
    if kind == Kind.URL:
        return new_url(words, text.strip())
    if kind == Kind.IP:
        return new_ip(words.source, text.strip())
    if kind == Kind.AGE:
        return re.sub(
            r"\d{1,9}", lambda found: str(max(0, int(found.group(0)) + words.source.choice((-2, -1, 1, 2)))), text
        )
    new = new_number(
        words.source,
        text,
        kind=str(kind),
        language=words.language,
        person=_owner(words),
        days=words.around.days,
        loose=words.attempt > 5,
    )
    if words.attempt > 20:  # there are too few numbers this short
        new += digits(words.source, words.attempt // 20)
    return new


def _owner(words: Words) -> tuple[str, str, str] | None:
    """The surrogate of the patient's name, for codes that contain it: given names, surnames, gender."""
    for entity in words.around.related:
        if entity.kind == Kind.NAME:
            parts = entity.surrogate.parts
            return parts.get("given", ""), parts.get("family", ""), parts.get("gender", "")
    return None
