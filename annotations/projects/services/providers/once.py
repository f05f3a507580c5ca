"""What may be used only once, by all web processes together: assertions and tokens of providers."""

import hashlib
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.utils import timezone

from annotations.models import UsedToken

# Clocks may differ by this much; python3-saml allows the same.
DRIFT = timedelta(minutes=5)


def use_up(kind: str, name: str, until: datetime) -> bool:
    """Use up what has this name until it expires. Return False if it was used before."""
    digest = hashlib.sha256(f"{kind}\0{name}".encode()).hexdigest()
    try:
        with transaction.atomic():
            UsedToken.objects.create(digest=digest, until=until + DRIFT)
    except IntegrityError:
        return False
    return True


def forget_used() -> int:
    """Forget what has expired anyway. Return how many."""
    return UsedToken.objects.filter(until__lt=timezone.now()).delete()[0]
