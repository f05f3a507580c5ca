from datetime import timedelta

import pytest
from django.utils import timezone

from annotations.certificates.services.drafting import Terms
from annotations.certificates.services.signing import content_of, prospect, sign
from annotations.core.errors import ServiceError
from annotations.models import Release
TERMS = Terms("Teaching", "University of Milan", timezone.localdate() + timedelta(days=365))


def test_try(released):
    print(released.release.state, released.release.figures)
    p = prospect(released.release, TERMS, released.mia)
    print(p.risks)
    c = sign(release=released.release, terms=TERMS, accepted=[r.key for r in p.risks], actor=released.mia)
    print(content_of(c))
    assert 0
