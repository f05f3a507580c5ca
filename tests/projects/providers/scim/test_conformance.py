"""The independent tester of SCIM, scim2-tester, finds no error in our SCIM."""

import pytest

from deidreview.wsgi import application
from tests.worlds.scim_provider import TOKEN

# Our own tests of SCIM run by day.
pytestmark = [pytest.mark.nightly, pytest.mark.django_db(transaction=True)]
# It checks users, groups and what the service offers, by about this many checks.
LEAST = 60


def test_scim2_tester_finds_no_error(configure):
    # Importing them takes seconds after many other modules.
    from scim2_client.engines.wsgi import WSGISCIMClient
    from scim2_tester import Status, check_server

    configure(scim_subject="userName")
    client = WSGISCIMClient(application, "http://testserver/scim/v2/idp", headers={"Authorization": f"Bearer {TOKEN}"})
    results = check_server(client)
    found = {one.title: one for one in results if one.status != Status.SUCCESS}
    # We refuse to search users and groups together, which the standard leaves open.
    assert found.pop("search_with_attributes").status == Status.SKIPPED
    wrong = [f"{one.title} of {one.resource_type}: {one.reason}" for one in found.values()]
    assert wrong == [] and len(results) > LEAST
