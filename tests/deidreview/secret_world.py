"""The access matrix's world with unique words and offsets in it, and all its URLs.

Used by test_secrets.py. Each unique token reveals one secret: whose spans, whose words, a person's name, or a
hidden suggestion.
"""

import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape

from django.apps import apps
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from annotations import models
from annotations.core.services import silent
from annotations.core.stored_files import store_file
from annotations.core.suggestions import add_strings, tally_of
from annotations.exchange.services.exporting import run_export
from annotations.exchange.services.staged import pack
from annotations.gold.rules import Split
from annotations.gold.services.making import freeze, make_gold
from annotations.gold.services.splitting import set_specs
from annotations.release.rules.known.person import MasterPerson
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.release.rules.redaction.released import Mention
from annotations.release.services.known import add_terms, store_people
from annotations.release.services.surrogates.editing import change
from annotations.release.services.surrogates.making import NoteMentions, surrogates_for
from annotations.review.selectors.planted import aliases
from annotations.review.services.planting import draw_leaks
from annotations.text.hashes import string_key
from models_runtime.models import Judging
from tests.deidreview.access_world import ROUTES, World, build_world, kind_of, url_of
from tests.factories import make_author, make_member, make_note
from tests.worlds.pages import signed_in

TEXT = "".join(f"Line {n:04} of the note.\n" for n in range(280))
# Unique offsets and ids: no page shows them for another reason, such as the start of a line.
OURS = ("annotations", "models_runtime")
SCORE_PAGES = ("score", "score_errors", "score_errors_export")
SPANS = {"zqbenno": (4211, 77_000_021), "zqcarla": (4513, 77_000_031), "outcome": (4823, 77_000_041)}
NAMES = {"zqanna", "zqbenno", "zqcarla", "zqfinn"}
BENNO = {"4211", "77000021", "zqsaidofbenno", "zqflagofbenno"}
CARLA = {"4513", "77000031"}
OUTCOME = {"4823", "77000041", "zqverdict", "910101"}
LEAK, SUGGESTIONS = 6133, {88_000_011: 6029, 88_000_012: 6133, 88_000_013: 6217}
HIDDEN = {str(LEAK), *map(str, SUGGESTIONS)}
# Of releases: released text and files, known identifiers, a denied term, and a surrogate.
RELEASED = {"zqreleased", "zqpacked", "zqpurpose", "zqknown", "zqdenied", "Zqsurrogate"}
CERTIFIED = {"zqcertified"}
# Part of a random UUID can equal an offset.
UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def token_pattern(tokens: set[str]) -> re.Pattern[str]:
    return re.compile(r"(?<![0-9A-Za-z])(?:" + "|".join(sorted(tokens)) + r")(?![0-9A-Za-z])")


@contextmanager
def large_ids() -> Iterator[None]:
    """Raise PostgreSQL's sequences, which continue through all tests, so that no id equals a unique offset."""
    if connection.vendor != "postgresql":
        yield
        return
    own = [model for app in OURS for model in apps.get_app_config(app).get_models()]
    tables = [model._meta.db_table for model in own if model._meta.pk.column == "id"]
    before = {}
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute("SELECT pg_get_serial_sequence(%s, 'id')", [table])
            sequence = cursor.fetchone()[0]
            cursor.execute("SELECT nextval(%s)", [sequence])
            before[sequence] = cursor.fetchone()[0]
            cursor.execute("SELECT setval(%s, 90000000)", [sequence])
    yield
    with connection.cursor() as cursor:
        for sequence, value in before.items():
            cursor.execute("SELECT setval(%s, %s)", [sequence, value])


def build_secrets() -> World:
    """Anna has a draft, Benno's and Carla's sets are submitted and adjudicated; a leak is planted in a note."""
    world = build_world()
    project, people = world.ours, world.people
    anna = people["annotator"]
    anna.username = "zqanna"
    anna.save()
    models.Author.objects.filter(project=project, user=anna).update(name="zqanna")
    people |= {name: make_member(project, models.Role.ANNOTATOR, name) for name in ("zqbenno", "zqcarla", "zqfinn")}
    people |= {"reviewing": make_member(project, models.Role.REVIEWER, "reviewing")}
    models.Membership.objects.filter(user=people["zqfinn"]).update(read_others_until="2099-01-01T00:00Z")
    annotators = [people[name] for name in ("annotator", "zqbenno", "zqcarla", "zqfinn")]
    note = make_note(project, TEXT, "case-1", annotators=annotators)
    sets = {
        name: _annotation_set(note, make_author(project, people[name]), *SPANS[name]) for name in ("zqbenno", "zqcarla")
    }
    models.Assignment.objects.filter(document=note, user__in=[people["zqbenno"], people["zqcarla"]]).update(
        state="done"
    )
    sets["anna"] = models.AnnotationSet.objects.create(document=note, author=make_author(project, anna), version=1)
    adjudicated = make_author(project, kind="adjudicated", name="adjudicated")
    sets["outcome"] = _annotation_set(note, adjudicated, *SPANS["outcome"])
    _talk(world, note)
    golden = make_note(project, TEXT, "case-2")
    benno = _annotation_set(golden, make_author(project, people["zqbenno"]), 901, 77_000_051)
    make_gold(document=golden, annotation_set=benno, actor=people["manager"])
    # The note also has a run's suggestions: review shows beside them from whose annotations the gold came.
    _annotation_set(golden, make_author(project, kind="run", name="rules-1"), 901, 77_000_061)
    world.objects["ours"] |= {"case": note.pk, "golden": golden.pk} | _leak(world)
    _release(world, golden)
    freeze(project=project, actor=people["manager"])
    _work(world)
    return world


def _annotation_set(note: models.Document, author: models.Author, start: int, pk: int) -> models.AnnotationSet:
    annotation_set = models.AnnotationSet.objects.create(
        document=note, author=author, state="submitted", submitted_at="2026-01-01T00:00Z"
    )
    label = models.Label.objects.get(label_set__project=note.project, name="CITY")
    models.Span.objects.create(pk=pk, annotation_set=annotation_set, start=start, end=start + 6, label=label)
    return annotation_set


def _talk(world: World, note: models.Document) -> None:
    benno, reviewer = world.people["zqbenno"], world.people["reviewer"]
    about = {"document": note, "start": 4211, "end": 4217}
    models.Comment.objects.create(author=benno, annotator=benno, text="zqsaidofbenno", span_id=77_000_021, **about)
    models.Comment.objects.create(author=reviewer, document=note, start=910101, end=910107, text="zqverdict")
    models.Flag.objects.create(document=note, user=benno, reason=models.Flag.Reason.OTHER, text="zqflagofbenno")


def _leak(world: World) -> dict[str, int]:
    """Create a run whose second suggestion on a note is hidden, and the first is gold already."""
    project = world.ours
    note = make_note(project, TEXT, "case-3")
    run = make_author(project, kind="run", name="leaky")
    annotation_set = models.AnnotationSet.objects.create(document=note, author=run, state="submitted")
    label = models.Label.objects.get(label_set__project=project, name="CITY")
    for pk, start in SUGGESTIONS.items():
        models.Span.objects.create(pk=pk, annotation_set=annotation_set, start=start, end=start + 6, label=label)
    gold = models.AnnotationSet.objects.create(
        document=note, author=models.Author.objects.get(project=project, kind="gold"),
        state="submitted", blind=False,
    )  # fmt: skip
    models.Span.objects.create(annotation_set=gold, start=6029, end=6035, label=label, provenance={"from": "run:leaky"})
    review = models.Review.objects.create(document=note, author=run, planted_share=20)
    models.PlantedLeak.objects.create(review=review, suggestion_id=88_000_012, known="words")
    return {"leaky": run.pk, "leaky_note": note.pk, "leaky_review": review.pk}


def _release(world: World, note: models.Document) -> None:
    """Fill the release with a note in which the leak gate found something, and everything that belongs to releases."""
    project, manager = world.ours, world.people["manager"]
    release = models.Release.objects.get(project=project, number=world.objects["ours"]["release"])
    models.Release.objects.filter(pk=release.pk).update(purpose="zqpurpose")
    text = "zqreleased" + TEXT[4:]
    row = models.ReleasedNote.objects.create(
        release=release, document=note, name=note.name, state=models.ReleasedNoteState.HELD, text=text,
        pieces=[[0, 4, 0, 10, "CITY", "surrogate"]], spans=[[0, 10, "CITY"]],
    )  # fmt: skip
    models.LeakFinding.objects.create(
        note=row, start=15, end=17, original_start=9, original_end=11, origin="known", string_key=8, label="CITY"
    )
    models.AuditNote.objects.create(plan=release.audit, note=row, position=2, look=0, planted_start=0, planted_end=4)
    packed = pack([("case-2.txt", b"zqpacked")])
    store_file(project=project, kind="release", name="release-1-text.zip", content=packed, actor=manager)
    store_people(project=project, people={"P-1": MasterPerson(given=("zqknown",))}, problems=0, actor=manager)
    add_terms(project=project, kind=models.ListedTermKind.DENY, terms=[("zqdenied", "CITY")], actor=manager)
    mention = Mention(0, 4, "CITY", IdentifierType.CITY, TEXT[:4])
    surrogates_for(project=project, notes=[NoteMentions(note.pk, "", "en", TEXT, [mention])])
    entity = models.SurrogateEntity.objects.get(project=project, kind=IdentifierType.CITY)
    change(project=project, entity=entity.pk, version=entity.version, act="replace", text="Zqsurrogate", actor=manager)
    models.Certificate.objects.filter(release__project=project).update(json=b'{"purpose":"zqcertified"}')


def draw_anew(world: World) -> dict[str, int]:
    """Draw the leak again as if the run were stored now: another run agrees, and the strings of both are counted.

    Return the ids of the run's suggestions by their aliases on pages.
    """
    project, ours = world.ours, world.objects["ours"]
    models.Review.objects.filter(pk=ours["leaky_review"]).delete()
    other = make_author(project, kind="run", name="agreeing")
    annotation_set = models.AnnotationSet.objects.create(
        document_id=ours["leaky_note"], author=other, state="submitted"
    )
    spans = models.Span.objects.filter(annotation_set__author=ours["leaky"])
    for span in spans:
        span.string_key = string_key(TEXT[span.start : span.end])
        span.save()
        models.Span.objects.create(
            annotation_set=annotation_set, start=span.start, end=span.end, label=span.label, string_key=span.string_key
        )
    add_strings(tally_of(models.Span.objects.filter(annotation_set__author__in=[ours["leaky"], other.pk])))
    models.Project.objects.filter(pk=project.pk).update(planted_share=20)
    draw_leaks(models.Author.objects.get(pk=ours["leaky"]), [ours["leaky_note"]])
    return {str(aliases(project).of(span.pk)): span.pk for span in spans}


def _work(world: World) -> None:
    """Create finished work on all annotation sets: jobs, judgings, and an export of each."""
    project, manager = world.ours, world.people["manager"]
    authors = {author.name: author.pk for author in models.Author.objects.filter(project=project)}
    version = project.gold_versions.order_by("-number").first()
    for name in ("zqbenno", "leaky"):
        params = [("score", {"author_id": authors[name]}), ("comparison", {"authors": [authors[name]]})]
        spec = f"{models.Author.objects.get(pk=authors[name]).kind}:{name}"
        params += [("gold", {"author_id": authors[name]})]
        for kind, how in [*params, ("export", {"set": spec})]:
            models.Job.objects.create(project=project, kind=kind, key=f"{kind}-{name}", params=how)
        Judging.objects.create(
            project=project, author_id=authors[name], gold_version=version, threshold=0.5, language="en",
            prompt_version="1",
        )  # fmt: skip
    for spec in with_notes(project):
        exported(project, spec, manager.pk)


def with_notes(project: models.Project) -> list[str]:
    """Return the annotation sets for which an export is not empty."""
    empty = [f"gold:{number}" for number in project.gold_versions.filter(note_count=0).values_list("number", flat=True)]
    drafts = models.Author.objects.filter(project=project).exclude(annotation_sets__state="submitted")
    empty += [f"{author.kind}:{author.name}" for author in drafts]
    return [spec for spec in set_specs(project) if spec not in empty]


def exported(project: models.Project, spec: str, actor: int, format: str = "brat") -> int:
    return run_export(project_id=project.pk, set_spec=spec, format=format, actor_id=actor, progress=silent)["file_id"]


# ── URLs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def variants(name: str, world: World) -> Iterator[dict[str, int]]:
    """Yield all objects that a route may name, whether or not this person's pages link to them."""
    ids, project = world.objects["ours"], world.ours
    kind = kind_of(name)
    every = {
        "note": [ids[each] for each in ("note", "open_note", "case", "golden", "leaky_note")],
        "open_note": [ids["open_note"], ids["case"]],
        "job": list(project.jobs.values_list("number", flat=True)),
        "file": list(models.StoredFile.objects.filter(project=project).values_list("pk", flat=True)),
        "entity": list(models.SurrogateEntity.objects.filter(project=project).values_list("pk", flat=True)),
        "judging": list(Judging.objects.filter(project=project).values_list("pk", flat=True)),
    }
    authors = list(models.Author.objects.filter(project=project).values_list("pk", flat=True))
    for pk in every.get(kind, [ids.get(kind, 0)]):
        if "<int:author>" not in ROUTES[name]:
            yield {kind: pk} if kind else {}
            continue
        for author in authors:
            yield ({kind: pk} if kind else {}) | {"run_author": author}


def urls(world: World) -> list[str]:
    """Return the URLs that a person could type: every page of every object, and every choice of annotation sets."""
    slug, project = world.ours.slug, world.ours
    found = []
    for name in ROUTES:
        if name.startswith("admin") or "logout" in name:
            continue
        for ids in variants(name, world):
            chosen = World(world.ours, world.theirs, world.people, {"ours": world.objects["ours"] | ids})
            found.append(url_of(name, chosen))
    sets = models.AnnotationSet.objects.filter(document__project=project)
    found += [f"{reverse('note', args=[slug, note])}?set={pk}" for note, pk in sets.values_list("document", "pk")]
    authors = list(models.Author.objects.filter(project=project).values_list("pk", flat=True))
    for version in [0, *project.gold_versions.values_list("number", flat=True)]:
        for other in authors:
            query = f"?gold={version}&a={authors[0]}&a={other}"
            found += [reverse("runs_compare", args=[slug]) + query]
            found += [f"{reverse('compare_spans', args=[slug])}{query}&kind={kind}" for kind in ("missed", "untouched")]
        found += [reverse("gold_version", args=[slug, version])] if version else []
        found += [f"{reverse(name, args=[slug, version, pk])}" for pk in authors for name in SCORE_PAGES]
    found += [f"{reverse('disagreements', args=[slug])}?annotation_sets=all&pair={authors[0]}-{pk}" for pk in authors]
    found += [
        f"{reverse(name, args=[slug])}?annotation_sets=all" for name in ("disagreement_sentences", "sentences_export")
    ]
    found += [
        f"{reverse(name, args=[slug])}?unit={unit}"
        for name in ("agreement", "agreement_table")
        for unit in ("token", "character", "entity")
    ]
    found += [reverse("decisions_export", args=[slug, "jsonl"]), f"{reverse('scores', args=[slug])}?gold=current"]
    found += [f"{reverse('export', args=[slug])}?split={split}" for split in Split]
    strings = models.SuggestedString.objects.filter(author__project=project).values_list("pk", flat=True)
    found += [reverse("review_string", args=[slug, pk]) for pk in strings]
    return list(dict.fromkeys(found))


_LINK = re.compile(r"""(?:href|action|hx-get|src)=["']([^"'#]+)|"(/projects/[^"]+)\"""")


def links(answer: HttpResponse) -> list[str]:
    """Return the links of a page within its project."""
    if answer.streaming:
        return []
    found = [unescape(one or other) for one, other in _LINK.findall(answer.content.decode(errors="replace"))]
    here = answer.wsgi_request.path
    full = [here + one if one.startswith("?") else one for one in found]
    return [one for one in full if one.startswith("/projects/ours/")]


# ── Responses ────────────────────────────────────────────────────────────────────────────────────────────────────────


def content_of(answer: HttpResponse) -> str:
    """Return everything in a response: headers, cookies and body; for a zip all names and files in it."""
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    head = f"{dict(answer.headers)} {answer.cookies.output()}"
    return head + (unpacked(content) if content[:2] == b"PK" else content.decode(errors="replace"))


def unpacked(content: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = [(name, archive.read(name).decode(errors="replace")) for name in archive.namelist()]
    return "\n".join(f"{name}\n{text}" for name, text in files)


def client_of(world: World, persona: str) -> Client:
    return signed_in(world.people[persona], raise_request_exception=False)
