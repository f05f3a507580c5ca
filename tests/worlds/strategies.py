"""A project with models of the language strategies EN, MIX and EN→IT, and their runs."""

import io

from annotations.core.stored_files import store_file
from annotations.gold.services.making import freeze
from annotations.models import Project, StoredFileKind
from models_runtime.models import Run, TrainedModel
from tests import factories as make

TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino dal dott. Bianchi."
ROSSI, AGE = (0, 11, "PATIENT"), (13, 15, "AGE")


def make_ward() -> Project:
    """Gold on four Italian and two English notes; models EN, MIX and EN→IT learned from half and ran on all."""
    project = make.make_project("ward")
    notes = [
        make.make_note(project, TEXT, f"{code}-{n}", patient_id=f"{code}{n}", language=code)
        for code, count in (("it", 4), ("en", 2))
        for n in range(count)
    ]
    for note in notes:
        make.make_set(note, "gold", [ROSSI, AGE])
    version, _ = freeze(project=project, actor=None)
    held_out = [notes[at].pk for at in (2, 3, 5)]

    def model(name: str, spans: list[tuple[int, int, str]], **params: object) -> TrainedModel:
        card = {"held_out_notes": held_out, "labels": ["PATIENT"], "language": params.get("language", "")}
        stored = store_file(
            project=project, kind=StoredFileKind.MODEL, name="m.zip", content=io.BytesIO(name.encode()), actor=None
        )
        row = TrainedModel.objects.create(
            project=project, name=name, backend="bilstm", state="ready", params=params, card=card,
            gold_version=version, stored_file=stored,
        )  # fmt: skip
        author = make.make_author(project, kind="run", name=f"run-{name}")
        for note in notes:
            make.make_set(note, author, spans, submitted=True)
        Run.objects.create(project=project, author=author, backend=f"model:{row.pk}", model=row)
        return row

    first = model("one", [AGE], language="en")
    model("all", [AGE])
    model("two", [ROSSI, AGE], language="it", base_model=first.pk)
    return project
