"""What a provider says of a person who signs in, after everything was verified."""

from dataclasses import dataclass, field
from datetime import datetime


class SignInRefused(Exception):
    """A token, a response or an answer is not what it must be. The reason goes to the log only."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """A person at a provider. `sealed` is what the relay needs to ask again; `until` is when the session must end."""

    provider: str
    subject: str
    username: str
    first_name: str = ""
    last_name: str = ""
    groups: frozenset[str] = frozenset()
    second_factor: bool = False
    sid: str = ""
    name_id: str = ""
    until: datetime | None = None
    sealed: bytes = field(default=b"", repr=False)
