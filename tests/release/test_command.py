"""The command `release`: what it writes and holds back, and that no identifier is left. Its sources, and previews."""

import hashlib
import json

import pytest
from django.core.management import CommandError

from annotations import models
from annotations.core.services import ServiceError
from annotations.gold.services.making import freeze
from annotations.release.rules.redaction.policy import SHIPPED
from annotations.release.services.policies import policies_of
from annotations.release.services.previewing import preview
from annotations.release.services.sources import source_of, specs_of, union_of
from annotations.text.hashes import text_sha256
from annotations.text.search import words
from tests import factories as make
from tests.release.conftest import NOTES, add_note, marked, release_command, texts_in


def test_the_command_masks_and_reports(ward, release, tmp_path):
    result = release("out", "--purpose", "Research")
    assert (result["notes"], result["leaks"], result["held_back"]) == (4, 0, 0)
    assert (result["release"], result["policy"], result["spans"]) == (1, "mask:1", 25)
    assert texts_in(tmp_path / "out")["en-2"].startswith("[PATIENT] came back on [DATE], MRN [MEDICALRECORD].")
    row = models.Release.objects.get()
    assert (row.state, row.note_count, row.purpose) == ("prepared", 4, "Research")
    assert row.content_hash == result["content_hash"]
    verbs = list(models.Event.objects.order_by("id").values_list("verb", flat=True))
    assert verbs[-3:] == ["policy.saved", "release.started", "release.exported"]
    freeze(project=ward.project, actor=ward.manager)
    models.Span.objects.all().delete()
    result = release("frozen", chosen="gold:1")
    assert (result["notes"], result["spans"]) == (4, 25)
    assert models.Release.objects.get(number=2).gold_version.number == 1


@pytest.mark.parametrize("slug", SHIPPED)
def test_no_labeled_string_survives(ward, release, tmp_path, slug):
    """Except for what the policy keeps or generalizes to."""
    before = dict(models.Document.objects.values_list("name", "sha256"))
    result = release("out", "--decide", "replace", policy=slug)
    assert (result["notes"], result["leaks"], result["held_back"]) == (4, 0, 0)
    policy = models.Release.objects.get().policy
    texts = texts_in(tmp_path / "out")
    replacing = {"mask", "remove", "hash", "shift", "surrogate"}
    for name, _language, patient, _text in NOTES:
        of_patient = [text for _name, _language, other, text in NOTES if other == patient]
        left = " ".join(words(texts[name]))
        for plain, spans in map(marked, of_patient):
            for start, end, label in spans:
                if policy.rules[label]["action"] in replacing:
                    assert f" {' '.join(words(plain[start:end]))} " not in f" {left} ", (slug, name, label)
    assert dict(models.Document.objects.values_list("name", "sha256")) == before
    assert all(text_sha256(note.text) == note.sha256 for note in models.Document.objects.all())


def test_the_manifest_lists_every_file_and_nothing_of_the_originals(ward, release, tmp_path):
    out = tmp_path / "out"
    result = release("out", "--format", "brat", "--recipient", "Adam Wilson")
    manifest = json.loads((out / "release.json").read_bytes())
    assert manifest["content_hash"] == result["content_hash"]
    assert (manifest["release"], manifest["notes"], manifest["policy"]) == (1, 4, {"slug": "mask", "version": 1})
    files = {one.relative_to(out).as_posix(): one for one in out.rglob("*") if not one.name.startswith("release.json")}
    assert {row["name"] for row in manifest["files"]} == set(files)
    for row in manifest["files"]:
        data = files[row["name"]].read_bytes()
        assert (row["bytes"], row["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    whole = (out / "release.json").read_text("utf-8")
    assert not any(word in whole for word in ("Wilson", "P-00", "Ward", "ward"))


def test_what_the_command_refuses(ward, release, tmp_path):
    for chosen in ("gold:9", "run:none", "union:gold"):
        with pytest.raises(CommandError):
            release("out", chosen=chosen)
    for policy in ("nothing", "mask:7", "mask:x"):
        with pytest.raises(CommandError):
            release("out", policy=policy)
    (tmp_path / "there").write_text("x")
    with pytest.raises(CommandError, match="not an empty folder"):
        release("")
    assert not (tmp_path / "out").exists() and not models.Release.objects.exists()


@pytest.fixture
def release(tmp_path):
    """A function that releases the ward into a folder of this name."""

    def run(name="out", *words, policy="mask", chosen="gold"):
        return release_command("ward", "--set", chosen, "--policy", policy, "--out", tmp_path / name, *words)

    return run


def test_a_union_can_be_read_again_and_has_quotation_marks_only_around_plus():
    for specs in ("gold", "gold:1 run:rules-1", "run:a+b gold", 'run:"a" run:a+b gold', "run:a+b"):
        assert specs_of(union_of(specs.split())) == specs.split()
    assert union_of(["gold:1", "run:rules-1"]) == "union:gold:1+run:rules-1"
    assert specs_of("union: gold:1 + run:rules-1") == ["gold:1", "run:rules-1"]
    assert union_of(["union:gold+run:a", "run:b+c"]) == 'union:gold+run:a+"run:b+c"'


def test_an_open_quotation_mark_and_an_unknown_part_say_what_to_do(ward):
    with pytest.raises(ServiceError, match="isn't closed"):
        source_of(ward.project, 'union:gold+"run:a')
    with pytest.raises(ServiceError, match="quotation marks"):
        source_of(ward.project, "union:gold+run:a+b")


def test_the_command_unites_repeated_sets(ward, tmp_path):
    run = make.make_author(ward.project, kind=models.AuthorKind.RUN, name="rules+crf")
    add_note(ward.project, "u", "«Nora Quimby|PATIENT» came.\n", author=run, language="en")
    out = tmp_path / "out"
    given = ["--set", "gold", "--set", "run:rules+crf"]
    assert release_command("ward", *given, "--policy", "mask", "--out", out)["notes"] == 5
    assert texts_in(out)["u"] == "[PATIENT] came.\n"


def shown(ward, name, slug):
    policy = next(policy for policy in policies_of(ward.project) if policy.slug == slug)
    return preview(project=ward.project, set_spec="gold", policy=policy, document=ward.notes[name])


@pytest.mark.parametrize("slug", ["mask", "surrogate"])
def test_a_preview_stores_nothing(ward, slug):
    found = shown(ward, "en-2", slug)
    assert found.text == ward.notes["en-2"].text and len(found.spans) == len(found.released.pieces) == 4
    assert "Wilson" not in found.released.text and not found.leaks
    for model in (models.ReleasePolicy, models.ReleasedNote, models.LeakFinding, models.SurrogateEntity):
        assert not model.objects.exists()
