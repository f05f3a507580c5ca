"""The independent tester of SCIM, scim2-tester, finds no error in our SCIM."""

import pytest
from scim2_client.engines.wsgi import WSGISCIMClient
from scim2_tester import Status, check_server

from deidreview.wsgi import application
from tests.worlds.scim_provider import TOKEN

pytestmark = pytest.mark.django_db(transaction=True)


def test_scim2_tester_finds_no_error(configure):
    configure(scim_subject="userName")
    client = WSGISCIMClient(
        application, "http://testserver/scim/v2/idp", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    results = check_server(client)
    wrong = [f"{one.title} {one.resource_type}: {one.reason}" for one in results if one.status not in (Status.SUCCESS, Status.SKIPPED)]
    print({status: sum(one.status == status for one in results) for status in Status})
    assert not wrong, "\n".join(wrong)
