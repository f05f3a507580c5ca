"""Names with characters that control text or its direction are refused in pages, commands and files."""

import io

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command

from annotations.core.authors import parse_written_as
from annotations.core.services import ServiceError
from annotations.core.stored_files import store_file
from annotations.exchange.services.sources import parse_patients
from annotations.gold.services.splitting import split_version
from annotations.models import Author, Project, StoredFile, User
from annotations.projects.services.labels import add_label, update_label
from annotations.projects.services.members import create_user
from annotations.projects.services.projects import create_project, update_project
from models_runtime.core.model_files import good_model_name
from models_runtime.runs.services.runs import start_run
from tests.factories import label_of, make_note, make_project

pytestmark = pytest.mark.django_db
BAD = ["a\u202eb", "a\u2066b", "a\u200fb", "a\u061cb", "a\nb", "a\x1bb", "a\u2028b", "a\0b", "a\ud800b"]


@pytest.mark.parametrize("name", BAD)
def test_names_of_projects_labels_and_others(name):
    project = make_project("ward", labels=[("NAME", [("PATIENT", "1")])])
    make_note(project)
    label = label_of(project, "PATIENT")
    ways = [
        lambda: create_project(name=name, label_set_key="meddocan"),
        lambda: update_project(project=project, actor=None, name=name),
        lambda: add_label(label_set=project.label_set, category=label.category, name=name, actor=None),
        lambda: update_label(label=label, actor=None, name=name),
        lambda: update_label(label=label, actor=None, placeholder=name), lambda: parse_written_as(f"run:{name}"),
        lambda: parse_written_as(f"annotator:{name}"),
        lambda: start_run(project=project, backend="rules", actor=None, name=name, key="1"),
        lambda: good_model_name(name), lambda: split_version(version=None, seed=name, shares={}, actor=None),
    ]  # fmt: skip
    for number, way in enumerate(ways):
        with pytest.raises(ServiceError, match=r"U\+") as caught:
            way()
        assert name not in str(caught.value), number
    assert Project.objects.get().name == "Ward" and not Author.objects.exists()


@pytest.mark.parametrize("name", BAD)
def test_user_names(name):
    with pytest.raises(ValidationError):
        create_user(username=name)
    assert not User.objects.exists()


def test_patient_ids_file_names_and_commands():
    for patient in ("P\u202e7", "P\x1b7"):
        with pytest.raises(ServiceError, match=r"line 2: The patient ID holds U\+"):
            parse_patients(f"name,patient_id\na,{patient}\n".encode(), "patients.csv")
    project = make_project("ward", labels=[])
    stored = store_file(project=project, kind="upload", name="a\u202etxt.exe", content=io.BytesIO(b"x"), actor=None)
    assert StoredFile.objects.get(pk=stored.pk).name == "a\\u202etxt.exe", "hidden characters are escaped"
    with pytest.raises(CommandError, match=r"contains U\+202E"):
        call_command("create_project", "Ward\u202e", "--labels", "meddocan")
    # Names in any script are accepted.
    assert update_project(project=project, actor=None, name="מחלקה א׳ ١٢").name == "מחלקה א׳ ١٢"
