"""Many values in one condition."""

import pytest

from annotations.core.among import among
from annotations.models import Project
from tests import factories as make


@pytest.mark.django_db
@pytest.mark.parametrize("values", [[], ["ward"], ["ward", 'o\'neill "x" ñ', "none"]])
def test_a_lookup_finds_the_rows_with_one_of_the_values(values):
    names = ["ward", 'o\'neill "x" ñ', "other"]
    for at, name in enumerate(names):
        make.make_project(f"p{at}", name=name)
    found = Project.objects.filter(name__in=among(values)).values_list("name", flat=True)
    assert set(found) == {*values} & {*names}
