"""A project with one object of every kind, its URLs, and the data sent there. Used by test_access_matrix.py."""

import re
import uuid
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import TypeVar

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.db import transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from annotations import models
from annotations.exchange.services.staged import pack
from annotations.release.rules.certificates.signatures import fingerprint_of
from annotations.release.rules.known.person import MasterPerson
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.release.rules.redaction.released import Mention
from annotations.release.services.certificates.signing import newest_key
from annotations.release.services.known import store_people
from annotations.release.services.policies import codes_of, save_policy
from annotations.release.services.surrogates.making import NoteMentions, surrogates_for
from models_runtime import models as runtime
from models_runtime.core.external import ExternalModel
from models_runtime.core.registry import EXTERNAL
from tests import factories
from tests.exchange.brat_files import stage
from tests.records.world import FLAT, VISIT

Answer = TypeVar("Answer")


def routes() -> dict[str, str]:
    """Return every URL pattern by its name with namespace, or by the pattern if it has no name."""

    def walk(resolver: URLResolver, prefix: str, space: str) -> Iterator[tuple[str, str]]:
        for entry in resolver.url_patterns:
            pattern = prefix + str(entry.pattern)
            if isinstance(entry, URLResolver):
                yield from walk(entry, pattern, f"{entry.namespace}:" if entry.namespace else space)
            elif isinstance(entry, URLPattern):
                yield (f"{space}{entry.name}" if entry.name else pattern), pattern

    # The routes of the API have a table of their own (api_table.py).
    found = [(name, pattern) for name, pattern in walk(get_resolver(), "", "") if not name.startswith("api:")]
    assert len({name for name, _ in found}) == len(found), "two URLs share a name"
    return dict(found)


ROUTES = routes()
SMALL = {backend: ExternalModel(backend, "small", "small", ("PER",), "it", "1.0") for backend in EXTERNAL}


@dataclass
class World:
    """Two projects with one object of every kind; `people` by persona."""

    ours: models.Project
    theirs: models.Project
    people: dict[str, models.User]
    objects: dict[str, dict[str, int]] = field(default_factory=dict)  # project slug -> kind -> id


def fill(project: models.Project, manager: models.User, annotator: models.User) -> dict[str, int]:
    """Create one object of every kind in a project. Return the ids by kind."""
    note = factories.make_note(project, annotators=[annotator])
    factories.make_author(project, kind="gold", name="gold")
    annotation_set = factories.make_set(note, annotator, [(0, 11, "PATIENT")], submitted=True)
    open_note = factories.make_note(project, annotators=[annotator])
    staged = stage(project, pack([("a.txt", b"Anna Bianchi")]), format="text", written_as="", actor=manager)
    store_people(project=project, people={"P-1": MasterPerson(given=("Anna",))}, problems=0, actor=manager)
    known_upload = models.KnownUpload.objects.create(project=project, format="csv", sealed=b"", created_by=manager)
    run_author = factories.make_author(project, kind="run", name="rules-1")
    suggestions = factories.make_set(note, run_author, [(0, 11, "PATIENT")], submitted=True)
    run = runtime.Run.objects.create(project=project, author=run_author, backend="rules", created_by=manager)
    rewriter = factories.make_author(project, kind="run", name="llm-1")
    rewriting = runtime.Run.objects.create(
        project=project, author=rewriter, backend="llm", params={"strategy": "rewrite"}
    )
    models.RewrittenNote.objects.create(author=rewriter, document=note, text="[PATIENT]", sha256="0" * 64)
    published = models.PublishedDecision.objects.create(
        project=project, name="published", sha256="0" * 64, text="OMISSIS", state="ambiguous"
    )
    models.PairCandidate.objects.create(published=published, document=note, similarity=0.9)
    schema = models.RecordSchema.objects.create(
        project=project, data_type="visit", number=1, schema=FLAT, created_by=None, state="active"
    )
    record = models.Record.objects.create(
        project=project, schema=schema, document=note, content_hash="0" * 64, record=VISIT, sections=[]
    )
    release = _release(project, note, manager)
    feed = runtime.Feed.objects.create(
        project=project, name="letters", source=f"in-{project.slug}", target=f"out-{project.slug}", run=run,
        policy=release.policy, created_by=manager,
    )  # fmt: skip
    # Numbers of jobs and of gold versions differ between the projects, as ids do.
    models.Project.objects.filter(pk=project.pk).update(last_job_number=models.Job.objects.count())
    job = models.Job.objects.create(project=project, kind="gold", key=f"matrix-{project.pk}", created_by=manager)
    counting = models.Job.objects.create(project=project, kind="agreement", key=f"matrix-{project.pk}-agreement")
    stored = models.StoredFile.objects.create(
        project=project, kind=models.StoredFileKind.EXPORT, name="brat.zip", created_by=manager,
        expires_at="2099-01-01T00:00:00Z",
    )  # fmt: skip
    archive, upload = (
        models.StoredFile.objects.create(project=project, kind=kind, name="archive.zip", expires_at=stored.expires_at)
        for kind in (models.StoredFileKind.ARCHIVE, models.StoredFileKind.UPLOAD)
    )
    weights = models.StoredFile.objects.create(project=project, kind=models.StoredFileKind.MODEL, name="crf-1.zip")
    ready = {"backend": "crf", "state": runtime.TrainedModelState.READY, "stored_file": weights}
    model = runtime.TrainedModel.objects.create(project=project, name="crf-1", **ready)
    rule = {"kind": "threshold", "runs": [run_author.pk], "least": 0.0}
    number = 1 + models.GoldVersion.objects.count()
    version = models.GoldVersion.objects.create(
        project=project, number=number, content_hash="0" * 64, note_count=0, span_count=0, created_by=manager
    )
    calibration = factories.make_calibration(run, version)
    judging = runtime.Judging.objects.create(
        project=project, author=run_author, gold_version=version, threshold=0.5, language="en", prompt_version="1"
    )
    bench, refiner = (
        factories.make_author(project, kind="bench", name=name) for name in ("injected-1", "injected-1-offline-1")
    )
    injection = runtime.InjectedRun.objects.create(
        project=project, author=bench, gold_version=version, rules=["cities"], rate=0.1, seed=7
    )
    refinement = runtime.Refinement.objects.create(project=project, source=bench, author=refiner, method="offline")
    systemic = runtime.SystemicError.objects.create(project=project, name="clubs", label="CITY")
    own_skill = runtime.ReviewSkill.objects.create(
        project=project, name=f"own-{project.slug}", version=1, labels=["*"], text="# Own"
    )
    certificate = certified(project)
    mention = Mention(0, 11, "PATIENT", IdentifierType.NAME, note.text[:11])
    surrogates_for(project=project, notes=[NoteMentions(note.pk, "", "it", note.text, [mention])])
    original = models.StoredFile.objects.create(project=project, kind=models.StoredFileKind.ORIGINAL, name="a.png")
    models.DocumentSource.objects.create(document=note, original=original, name="a.png", kind="image")
    region = _recording(project, open_note)
    webhook = models.Webhook.objects.create(
        project=project, url="https://hooks.example.org/", sealed=b"", kinds=["job.done"]
    )
    delivery = models.Delivery.objects.create(
        webhook=webhook, kind="job.done", due_at=timezone.now(), state=models.DeliveryState.FAILED
    )
    rows = {
        "webhook": webhook, "published": published, "feed": feed, "region": region, "record": record, "run": run,
        "record_schema": schema, "delivery": delivery, "note": note, "open_note": open_note, "model": model,
        "calibration": calibration, "judging": judging, "injection": injection, "refinement": refinement,
        "systemic": systemic, "annotation_set": annotation_set, "rewriting": rewriting, "run_author": run_author,
        "import": staged, "known_upload": known_upload, "file": stored, "archive": archive, "archive_upload": upload,
        "project": project, "labelset": project.label_set, "user": annotator, "suggestion": suggestions.spans.get(),
        "label": factories.label_of(project, "CITY"), "category": factories.label_of(project, "CITY").category,
        "entity": models.SurrogateEntity.objects.get(project=project),
        "known_person": models.KnownPerson.objects.get(project=project),
        "string": models.SuggestedString.objects.get(author=run_author),
        **dict.fromkeys(("member", "membership"), models.Membership.objects.get(project=project, user=annotator)),
        "flag": models.Flag.objects.create(document=note, user=annotator, reason="unsure"),
        "comment": models.Comment.objects.create(document=note, annotator=annotator, author=annotator, text="A word."),
        "group_role": models.GroupRole.objects.create(project=project, provider="none", group="g", role="viewer"),
        "mapping": models.LabelMapping.objects.create(project=project, name="Partner"),
        "bulk": models.BulkAct.objects.create(project=project, user=manager, act="accept", rule=rule),
        "vote": models.MajorityAct.objects.create(project=project, user=manager, planned=1),
        "search": models.Search.objects.create(project=project, user=annotator, text="Rossi"),
        "accessattempt": AccessAttempt.objects.create(username=f"a{note.pk}", failures_since_start=1),
        "accesslog": AccessLog.objects.create(username=f"a{note.pk}"),
        "accessfailurelog": AccessFailureLog.objects.create(username=f"a{note.pk}"),
    }  # fmt: skip
    return {name: str(row.pk) if isinstance(row.pk, uuid.UUID) else row.pk for name, row in rows.items()} | {
        "certificate": certificate.number, "certified_release": certificate.release.number, "start": 0, "end": 11,
        "fingerprint": fingerprint_of(bytes(certificate.key.public)), "skill": own_skill.name, "mark": 0, "term": 0,
        "release": release.number, "job": job.number, "agreement_job": counting.number, "version": version.number,
        "policy": _own_policy(project), "author": annotation_set.author_id,
    }  # fmt: skip


def certified(project: models.Project) -> models.Certificate:
    """Create another release, which is signed. Its number differs between the projects, as ids do."""
    number = 1 + models.Release.objects.count()
    policy = models.ReleasePolicy.objects.get(project=project)
    release = models.Release.objects.create(
        project=project, number=number, set_spec="gold", policy=policy, state=models.ReleaseState.SIGNED,
        figures={"notes": 0, "held_back": 0, "characters": 0, "characters_kept": 0, "spans_by_label": {}},
    )  # fmt: skip
    return models.Certificate.objects.create(
        release=release, number=number, key=newest_key(), sha256="0" * 64, json=b"{}", pdf=b"%PDF-", note_count=0,
        signed_at=timezone.now(),
    )  # fmt: skip


def _release(project: models.Project, note: models.Document, manager: models.User) -> models.Release:
    """A prepared release of one note with a finding. Its number differs between the projects, as ids do."""
    rules = {code: {"kind": "other", "action": "mask"} for code in codes_of(project)}
    policy = save_policy(project=project, slug="mask", name="Mask", rules=rules, actor=manager)
    release = models.Release.objects.create(
        project=project, number=1 + models.Release.objects.count(), set_spec="gold", policy=policy, created_by=manager,
        state=models.ReleaseState.PREPARED, note_count=1,
    )  # fmt: skip
    released = models.ReleasedNote.objects.create(
        release=release, document=note, name=note.name, state=models.ReleasedNoteState.HELD,
        text="[PATIENT]" + note.text[11:], pieces=[[0, 11, 0, 9, "PATIENT", "mask"]], spans=[[0, 9, "PATIENT"]],
    )  # fmt: skip
    models.LeakFinding.objects.create(
        note=released, start=11, end=13, original_start=13, original_end=15, origin="note", string_key=7, label="AGE",
        source=note, source_start=13, source_end=15,
    )  # fmt: skip
    plan = models.AuditPlan.objects.create(
        release=release, confidence=0.95, target=0.05, planted_share=0.0, leaks_allowed=0, seed="1", drawn=1,
        strata={"": {"notes": 1, "simple": True}}, looks=[{"": 1}],
    )  # fmt: skip
    models.AuditNote.objects.create(plan=plan, note=released, position=1, look=0)
    return release


def _own_policy(project: models.Project) -> str:
    """Create a policy whose short name no other project has. Return this name."""
    rules = models.ReleasePolicy.objects.get(project=project).rules
    return models.ReleasePolicy.objects.create(
        project=project, slug=f"own-{project.slug}", version=1, name="Own", rules=rules
    ).slug


def build_world() -> World:
    ours, theirs = factories.make_project("ours"), factories.make_project("theirs")
    people = {role: factories.make_member(ours, role, role) for role in models.Role.values}
    people["stranger"] = factories.make_user("stranger")
    people["other_manager"] = factories.make_member(theirs, models.Role.MANAGER, "other_manager")
    people["administrator"] = factories.make_user("root", is_staff=True, is_superuser=True)
    built = World(ours, theirs, people)
    built.objects["ours"] = fill(ours, people["manager"], people["annotator"])
    built.objects["theirs"] = fill(theirs, people["other_manager"], people["other_manager"])
    return built


# The kind of object that a URL names, by the first of these that is found in its pattern.
KINDS = {
    "notes/<int:pk>/(changes|start|submit|recording)": "open_note", "runs/<int:pk>/(placeholders|rewr)": "rewriting",
    "releases/<int:number>/certificate": "certified_release", "(releases|records/export)/<int:": "release",
    "(notes|adjudicate|disagreements|review/<int:author>)/<int:pk>": "note", "review/<int:author>": "run_author",
    "agreement/jobs/<": "agreement_job", "jobs/<": "job", "files/<": "file", "(gold|scores)/<int:version>": "version",
    "archive/import/<": "archive_upload", "archive/<": "archive", "imports?/<": "import", "strings/<": "string",
    "export/labels/<": "mapping", "labels/<": "label", "categories/<": "category", "people/<": "member",
    "runs/<int": "run", "models/<": "model", "calibrations/<": "calibration", "judges/<": "judging",
    "injections/<": "injection", "surrogates/<": "entity", "patients/<": "known_person", "uploads/<": "known_upload",
    "groups/<": "group_role", "pairs/<": "published", "records/<": "record", "record-schemas/<": "record_schema",
    "webhooks/<": "webhook", "feeds/<": "feed",
}  # fmt: skip
SPECIAL = {
    "help_page": "help/annotator/", "account_reset_password_from_key": "accounts/password/reset/key/1-set-password/",
    "admin:app_list": "admin/annotations/", "admin/(?P<url>.*)$": "admin/nowhere/",
    "admin:auth_user_password_change": "admin/annotations/user/{user}/password/", "admin:view_on_site": "admin/r/0/0/",
}  # fmt: skip


def kind_of(name: str) -> str:
    return next((kind for pattern, kind in KINDS.items() if re.search(pattern, ROUTES[name])), "")


def url_of(name: str, world: World, slug: str = "ours", objects: str = "ours") -> str:
    """Return the URL of a route in project `slug`, with the object of project `objects`."""
    ids = world.objects[objects]
    if name in SPECIAL:
        return "/" + SPECIAL[name].format(**ids)
    model = re.search(r"admin/\w+/(\w+)/", ROUTES[name])
    own = ids.get(kind_of(name), 0)
    values = {
        "slug": slug,
        # A released note has the number of its release and the id of its note.
        # Users and groups of SCIM have a UUID.
        "pk": {"release_note": ids["note"], "scim_user": uuid.UUID(int=7), "scim_group": uuid.UUID(int=7)}.get(
            name, own
        ),
        "number": own,
        "author": ids["run_author"],
        **{key: ids[key] for key in ("delivery", "version", "search", "bulk", "vote", "certificate", "fingerprint")},
        "provider_id": "none",
        "key": "User",
        "format": "csv",
        "name": "locations" if name == "skill" else "small",
        "policy": "mask",
        "region": ids["region"],
        "part": 0,
        "start": 0,
        "end": 11,
        "page": 1,
        "object_id": ids[model[1]] if model and "object_id" in ROUTES[name] else 0,
    }
    return "/" + re.sub(r"<\w+:(\w+)>", lambda found: str(values[found[1]]), ROUTES[name])


def _recording(project: models.Project, note: models.Document) -> models.AudioRegion:
    """A recording of one second, whose transcript is the note, with a region."""
    stored = models.StoredFile.objects.create(
        project=project, kind=models.StoredFileKind.ORIGINAL, name="a.wav", size=4
    )
    models.StoredChunk.objects.create(file=stored, number=0, data=b"RIFF")
    models.DocumentSource.objects.create(document=note, original=stored, name="a.wav", kind="audio")
    row = models.Import.objects.create(project=project, format="text", state=models.ImportState.DONE)
    recording = models.Recording.objects.create(
        document=note, imported_by=row, format="WAV", subtype="PCM_16", rate=8000, channels=1, frames=8000,
        source="file of words", margin=0.2, words=[[0, 11, 0.2, 0.7, None, "", False]], peaks=[0, 50],
    )  # fmt: skip
    return models.AudioRegion.objects.create(recording=recording, start=0.7, end=0.9, cause="gap")


def form_of(name: str, world: World, objects: str = "ours") -> dict:
    """Return the data of a POST that succeeds if it is allowed."""
    ids = world.objects[objects]
    return {
        "project_new": {"name": "A new one", "label_set": "meddocan"},
        "guidelines_edit": {"text": "# Names", "seen_version": 0},
        "skill": {"labels": "*", "text": "# Names", "seen_version": 0},
        "amend": {"text": "A ward is no name.", "seen_version": 0},
        "disagreement_cause": {"at": f"{ids['note']}-0-11", "added": "AB"},
        "score_error_cause": {"at": f"{ids['note']}:0-11-PATIENT:", "added": "AB"},
        "disagreement_talk": {"text": "A word."},
        "import_preview": {"do": "discard"},
        "known_lists": {"do": "add", "which": "deny", "terms": "Villa Verde", "label": "CITY"},
        "webhook": {"do": "off"},
        "pair_settle": {"note": "none"},
        "feed": {"do": "pause"},
        "region_mark": {"start": "0.1", "end": "0.2"},
        "region_decide": {"start": "0.1", "end": "0.2", "decision": "accepted"},
        "record_schema": {"act": "activate"},
        "record_release": {"policy": "mask"},
        "known_upload": {"do": "discard"},
        "known_person": {"do": "show"},
        "member_role": {"role": "viewer"},
        "comments": {"act": "add", "text": "A word."},
        "flag": {"act": "raise", "reason": "unsure"},
        "search": {"text": "Rossi"},
        "places": {"text": "caso"},
        "audit_start": {"target": "5", "confidence": "95", "planted": "0", "leaks": "0"},
        "note_gold": {"set": ids["annotation_set"], "version": 0},
        "run_start": {"backend": "rules"},
        "calibration_start": {"author": ids["run_author"], "gold": ids["version"]},
        "model_train": {"gold": ids["version"]},
        "model_rename": {"name": "Another"},
        "export_preview": {"format": "brat", "set": "gold"},
        "label_mappings": {"name": "Another", "target": ""},
        "label_mapping": {"name": "Another"},
        "job_start_export": {"format": "brat", "set": "gold"},
        "job_start_gold": {"author": ids["author"]},
        "agreement_start": {"unit": "token"},
        "statistics_start": {"version": ids["version"]},
        "surrogates": {"text": "Rossi"},
        "surrogate_change": {"act": "lock", "version": 1},
        "surrogate_scores_start": {"backend": "rules"},
    }.get(name, {})


def json_of(name: str, ids: dict[str, int]) -> dict | None:
    """Return the JSON of a POST that succeeds if it is allowed, without its person; None for other routes."""
    act = {"act": "nothing", "seen": [[0, 11, "key"]], "start": 0, "end": 11, "kind": "AB", "present": True}
    change = {"kind": "create", "start": 13, "end": 15, "label": ids["label"], "quote": "54"}
    return {
        "changes": change,
        "adjudicate_decide": act,
        "adjudicate_cause": act,
        "review_decide": {"act": "accept", "seen": ["open"], "suggestion": ids["suggestion"]},
        "note_surrogates": {"spans": []},
        "audit_mark": {"changes": [{"note": 1, "start": 0, "end": 4, "label": "CITY"}]},
        "review_strings_decide": {
            "changes": [{"change_id": str(uuid.uuid4()), "string": ids["string"], "answer": "accept"}]
        },
    }.get(name)


def ask(client: Client, method: str, name: str, world: World, slug: str = "ours", objects: str = "ours") -> int:
    return answer_of(client, method, name, world, slug, objects).status_code


def answer_of(
    client: Client, method: str, name: str, world: World, slug: str = "ours", objects: str = "ours"
) -> HttpResponse:
    """Return the response to a GET, or to a POST that succeeds if it is allowed."""
    url = url_of(name, world, slug, objects)
    if method == "GET":
        return client.get(url)
    if (body := json_of(name, world.objects[objects])) is None:
        return client.post(url, form_of(name, world, objects))
    more = {"person": int(client.session.get("_auth_user_id", 0))}
    if name != "note_surrogates":
        more["change_id"] = "6f0c6d5e-0000-4000-8000-000000000001"
    return client.post(url, body | more, content_type="application/json")


def as_persona(world: World, persona: str) -> Client:
    client = Client(raise_request_exception=False)
    if persona != "anonymous":
        client.force_login(world.people[persona])
    return client


class Undo(Exception):
    pass


def undone(act: Callable[[], Answer], client: Client | None = None) -> Answer:
    """Return the result of `act`, and undo everything that it wrote, including what it did to the client's cookies."""
    before = copy(client.cookies) if client else None
    try:
        with transaction.atomic():
            result = act()
            raise Undo
    except Undo:
        return result
    finally:
        if client:
            client.cookies = before
