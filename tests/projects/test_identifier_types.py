"""The identifier type of own labels: added and changed on pages, by the API and by files, and what follows it."""

from django.urls import reverse

from annotations.models import Label
from annotations.release.selectors.known import kinds_of_labels
from annotations.release.services.policies import kinds_in
from tests.factories import label_of
from tests.worlds.checks import check_page
from tests.worlds.commands import answered
from tests.worlds.programs import Program

LABELS = "/projects/covid/labels"


def types() -> dict[str, str]:
    return dict(Label.objects.exclude(identifier="").values_list("code", "identifier"))


def changed(api: Program, label: Label, identifier: str):
    one = f"{LABELS}/{label.pk}"
    return api.patch(one, {"identifier": identifier}, if_match=api.get(one).headers["ETag"])


def test_own_labels_get_their_type_on_pages_by_the_api_and_by_files(world, sign_in, tmp_path):
    mia, api = sign_in(world.mia), Program(world.mia)
    city = label_of(world.project, "CITY")
    new = {"name": "Extension", "category": city.category_id, "identifier": "phone"}
    assert mia.post(reverse("labels", args=["covid"]), new).status_code == 302 and types() == {"Extension": "phone"}
    assert kinds_in(world.project)["Extension"] == kinds_of_labels(world.project)["Extension"] == "phone"
    extension = label_of(world.project, "Extension")
    page = reverse("label_edit", args=["covid", extension.pk])
    assert '<option value="phone" selected>' in check_page(mia.get(page))
    mia.post(page, new | {"placeholder": "[X]", "identifier": "fax"})
    assert types() == {"Extension": "fax"}

    made = api.post(LABELS, {"name": "Plate", "category": city.category.code, "identifier": "vehicle"})
    assert made.status_code == 201 and made.json()["identifier"] == "vehicle"
    refused = changed(api, extension, "moon")
    assert [error["field"] for error in refused.json()["errors"]] == ["identifier"]
    assert changed(api, extension, "phone").json()["identifier"] == "phone"

    file = tmp_path / "labels.csv"
    file.write_text("code,name,category,identifier\nPlate,Plate,,device\n,Badge,Location,staff\n")
    file.write_text(file.read_text().replace("Location", city.category.code))
    assert answered("labels", "covid", "--from", file)["added"] == ["Badge"]
    assert types() == {"Extension": "phone", "Plate": "device", "Badge": "staff"}


def test_the_type_of_a_shipped_label_is_that_of_its_set(world, sign_in):
    world.project.label_set.key = "i2b2-2014"
    world.project.label_set.save()
    patient = label_of(world.project, "PATIENT")
    page = check_page(sign_in(world.mia).get(reverse("label_edit", args=["covid", patient.pk])))
    assert 'name="identifier"' not in page
    refused = changed(Program(world.mia), patient, "phone")
    assert [error["field"] for error in refused.json()["errors"]] == ["identifier"] and types() == {}
