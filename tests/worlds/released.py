"""A project with gold in which the leak gate finds identifiers, and prepared releases of it."""

from types import SimpleNamespace
from typing import Any

from annotations.jobs.runner import run as run_job
from annotations.models import Label, Project, Release, Span, User
from annotations.projects.services.projects import create_project
from annotations.release.services.policies import policy_named
from annotations.release.services.starting import start_release
from tests import factories as make
from tests.held import made_once

# Each note: name, patient, text, and the labeled strings, each at its first occurrence.
NOTES: list[tuple[str, str, str, list[tuple[str, str]]]] = [
    ("caso-001", "P-1",
     "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino dal dott. Bianchi.\nIl sig. Rossi torna a casa.\n",
     [("Mario Rossi", "PATIENT"), ("54", "AGE"), ("12/03/2021", "DATE"), ("Torino", "CITY"), ("Bianchi", "DOCTOR")]),
    ("caso-002", "P-1", "Controllo a Torino: Rossi sta bene.\nRivisto il 26/03/2021.\n", [("26/03/2021", "DATE")]),
    ("caso-003", "P-2", "Anna Neri, 91 anni, di Milano.\n",
     [("Anna Neri", "PATIENT"), ("91", "AGE"), ("Milano", "CITY")]),
]  # fmt: skip


def make_clinic() -> SimpleNamespace:
    """The project “covid” with the label set of i2b2 2014, gold of three notes, and one member of each role.

    With the policy `mask` the leak gate finds Rossi once in the first note, and Rossi and Torino in the second.
    """
    project = create_project(name="Covid ward", slug="covid", label_set_key="i2b2-2014")
    roles = {"ann": "annotator", "vic": "viewer", "rev": "reviewer", "mia": "manager"}
    people = {name: make.make_member(project, role, name) for name, role in roles.items()}
    out = make.make_member(make.make_project("other", name="Other ward"), "manager", "out")
    labels = {label.code: label for label in Label.objects.filter(label_set__project=project)}
    gold = make.make_author(project, kind="gold", name="gold")
    notes = []
    for name, patient, text, strings in NOTES:
        note = make.make_note(project, text, name, language="it", patient_id=patient)
        made = make.make_set(note, gold, submitted=True)
        Span.objects.bulk_create(
            Span(annotation_set=made, start=text.index(one), end=text.index(one) + len(one), label=labels[code])
            for one, code in strings
        )
        notes.append(note)
    return SimpleNamespace(project=project, notes=notes, out=out, gold=gold, labels=labels, **people)


def make_release(project: Project, actor: User | None = None, policy: str = "mask", **about: Any) -> Release:
    """A release of the project's gold, prepared. Its notes keep their names."""
    about.setdefault("keep_names", True)
    release = start_release(
        project=project, set_spec="gold", policy=policy_named(project, policy, actor=actor), actor=actor, **about
    )
    assert release.job is not None
    run_job(release.job.pk)
    return Release.objects.select_related("project", "policy", "job").get(pk=release.pk)


def make_released_clinic() -> SimpleNamespace:
    """The project of `make_clinic` with a prepared release of its gold, masked."""
    made = make_clinic()
    made.release = make_release(made.project, made.mia)
    return made


made_clinic, clinic = made_once(make_released_clinic, name="made_clinic")
