"""Label mappings through the API."""

import pytest

from annotations.models import LabelMapping
from tests.factories import make_member, make_project
from tests.worlds.programs import Program

pytestmark = [pytest.mark.django_db]
MAPPINGS = "/projects/ward/label-mappings"
CODES = {"PATIENT": "NAME", "DOCTOR": "NAME", "DATE": "DATE", "CITY": "PLACE", "HOSPITAL": "PLACE", "AGE": ""}


@pytest.fixture
def program() -> Program:
    return Program(make_member(make_project("ward"), "manager", "mia"))


def errors_of(answer) -> dict[str, str]:
    assert answer.status_code == 422
    return {error["field"]: error["reason"] for error in answer.json()["errors"]}


def test_a_mapping_from_its_first_choice_to_its_end(program):
    made = program.post(MAPPINGS, {"name": "Partner"})
    assert (made.status_code, made.json()["open"]) == (201, 6)
    one = f"{MAPPINGS}/{made.json()['id']}"
    part = program.patch(one, {"codes": {"PATIENT": "NAME"}}, if_match=made.headers["ETag"])
    assert part.json()["open"] == 5
    late = program.patch(one, {"name": "Other"}, if_match=made.headers["ETag"])
    assert (late.status_code, late.headers["ETag"]) == (412, part.headers["ETag"])
    whole = program.patch(one, {"name": "Other", "codes": CODES}, if_match=part.headers["ETag"]).json()
    assert {row["label"]: row["code"] for row in whole["labels"]} == CODES
    assert (whole["name"], whole["open"]) == ("Other", 0)
    assert program.patch(one, {"codes": {"AGE": None}}, if_match="*").json()["open"] == 1
    assert program.get(one).json()["name"] == "Other"
    listed = {"id": whole["id"], "name": "Other", "target": "", "open": 1}
    assert program.get(MAPPINGS).json()["items"] == [listed]
    assert program.delete(one).status_code == 204
    assert not LabelMapping.objects.exists()


def test_what_is_wrong_with_a_mapping(program):
    one = f"{MAPPINGS}/{program.post(MAPPINGS, {'name': 'Partner'}).json()['id']}"
    assert set(errors_of(program.post(MAPPINGS, {"name": "Partner"}))) == {"name"}
    assert set(errors_of(program.post(MAPPINGS, {"name": "New", "target": "none"}))) == {"target"}
    for codes, field in (
        ({"NOWHERE": "A"}, "codes.NOWHERE"),
        ({"AGE": "a b"}, "codes"),
        ({"AGE": "x" * 61}, "codes.AGE"),
        ({"AGE": "Name", "DATE": "NAME"}, "codes"),
    ):
        assert set(errors_of(program.patch(one, {"codes": codes}, if_match="*"))) == {field}


def test_a_target_allows_only_its_labels(program):
    made = program.post(MAPPINGS, {"name": "Partner", "target": "meddocan"}).json()
    one = f"{MAPPINGS}/{made['id']}"
    assert set(errors_of(program.patch(one, {"codes": {"AGE": "OLD"}}, if_match="*"))) == {"codes.AGE"}
