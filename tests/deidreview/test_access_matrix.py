"""Who may do what, for every URL there is: one table, walked with one client per persona.

A URL that is not in the table fails the test, and so does a row without a URL.
"""

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import pytest
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from annotations.models import (
    BulkAct,
    Document,
    GoldVersion,
    Membership,
    Project,
    ProposedString,
    Role,
    Search,
    StoredFile,
    User,
)
from annotations.services.staged import stage_import
from models_runtime.jobs import foreign
from models_runtime.jobs.foreign_model import Foreign
from models_runtime.models import Job, Judging, Run, TrainedModel
from models_runtime.registry import FOREIGN
from tests.factories import (
    label_of,
    make_author,
    make_calibration,
    make_member,
    make_note,
    make_project,
    make_set,
    make_user,
)

pytestmark = pytest.mark.django_db

PERSONAS = ["anonymous", "stranger", "viewer", "annotator", "reviewer", "manager", "rival", "administrator"]
# stranger: signed in, in no project. rival: manager of another project. administrator: staff, in no project.
# A row gives the status for each, in this order. 302 of anonymous is the way to the sign-in page; 404 keeps a project's
# existence from strangers; 403 is for members who lack the right; 405 is the wrong method.
EVERYONE_405 = "302 405 405 405 405 405 405 405"
OPEN_405 = "405 405 405 405 405 405 405 405"
MEMBERS = "302 404 200 200 200 200 404 404"
READERS = "302 404 200 403 200 200 404 404"  # all roles that read every note
ANNOTATORS = "302 404 403 200 200 200 404 404"
REVIEWERS = "302 404 403 403 200 200 404 404"
MANAGERS = "302 404 403 403 403 200 404 404"
SIGNED_IN = "302 200 200 200 200 200 200 200"
LEADS_ON = "302 302 302 302 302 302 302 302"
NOBODY = "302 404 404 404 404 404 404 404"
STAFF = "302 302 302 302 302 302 302 200"
STAFF_302 = "302 302 302 302 302 302 302 302"
STAFF_403 = "302 302 302 302 302 302 302 403"
STAFF_405 = "302 302 302 302 302 302 302 405"
STAFF_404 = "302 302 302 302 302 302 302 404"


def done(row: str, status: int = 302) -> str:
    """The row of a change: where a look gives 200, the change ends in `status`."""
    return row.replace("200", str(status))


# fmt: off
TABLE: dict[str, dict[str, str]] = {
    "healthz": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},
    "script_words": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},

    # Projects
    "projects": {"GET": SIGNED_IN, "POST": EVERYONE_405},
    "project_new": {"GET": "302 403 403 403 403 200 200 200", "POST": "302 403 403 403 403 302 302 302"},
    "project": {"GET": MEMBERS, "POST": EVERYONE_405},
    "project_settings": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "assign_notes": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "fill_notes": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "guidelines": {"GET": MEMBERS, "POST": EVERYONE_405},
    "guidelines_edit": {"GET": MANAGERS, "POST": done(MANAGERS)},
    "patients": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},

    # Notes
    "notes": {"GET": MEMBERS, "POST": done(MEMBERS)},
    "note": {"GET": READERS, "POST": EVERYONE_405},
    "note_gold": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "note_gold_withdraw": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    # Reviewers and managers may annotate, but have no notes given to them here: the page that says so.
    "next_note": {"GET": "302 404 403 302 200 200 404 404", "POST": EVERYONE_405},
    "annotate": {"GET": ANNOTATORS, "POST": EVERYONE_405},
    "note_data": {"GET": ANNOTATORS, "POST": EVERYONE_405},
    "changes": {"GET": EVERYONE_405, "POST": ANNOTATORS.replace("302", "401")},
    "spans": {"GET": ANNOTATORS, "POST": EVERYONE_405},
    "submit": {"GET": EVERYONE_405, "POST": done(ANNOTATORS)},
    "reopen": {"GET": EVERYONE_405, "POST": done(ANNOTATORS)},

    # Comments, flags, keys, search
    "talk": {"GET": MEMBERS, "POST": EVERYONE_405},
    "comments": {"GET": EVERYONE_405, "POST": done(ANNOTATORS)},
    "flag": {"GET": EVERYONE_405, "POST": done(ANNOTATORS)},
    "guidelines_beside": {"GET": MEMBERS, "POST": EVERYONE_405},
    "keys": {"GET": ANNOTATORS, "POST": done(ANNOTATORS)},
    "search": {"GET": MEMBERS, "POST": done(MEMBERS, 303)},
    # Only who searched sees what was found: the annotator.
    "search_results": {"GET": "302 404 404 200 404 404 404 404", "POST": EVERYONE_405},

    # Labels, people
    "labels": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "label_edit": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "label_merge": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "people": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "member_role": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "member_remove": {"GET": MANAGERS, "POST": done(MANAGERS)},
    "member_link": {"GET": EVERYONE_405, "POST": MANAGERS},

    # Import, gold, export, audit
    "import": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "import_preview": {"GET": MANAGERS, "POST": done(MANAGERS)},
    "import_report": {"GET": MANAGERS, "POST": EVERYONE_405},

    "gold": {"GET": READERS, "POST": EVERYONE_405},
    "gold_freeze": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "gold_version": {"GET": READERS, "POST": EVERYONE_405},
    "gold_changes": {"GET": READERS, "POST": EVERYONE_405},
    "gold_split": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "scores": {"GET": READERS, "POST": EVERYONE_405},
    "score": {"GET": READERS, "POST": EVERYONE_405},
    # Nothing was compared here: back to the score, which says so.
    "score_places": {"GET": done(READERS), "POST": EVERYONE_405},
    "export": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "file_download": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "audit": {"GET": MANAGERS, "POST": EVERYONE_405},

    # Review of many proposals
    "review_strings": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "review_string": {"GET": REVIEWERS, "POST": done(REVIEWERS, 303)},
    "review_bulk_new": {"GET": REVIEWERS, "POST": done(REVIEWERS, 422)},
    "review_bulk": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "bulk_start": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "bulk_undo": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    # It was small: there is no job.
    "bulk_job": {"GET": done(REVIEWERS, 404), "POST": EVERYONE_405},
    "acceptance": {"GET": READERS, "POST": EVERYONE_405},
    "decisions_export": {"GET": REVIEWERS, "POST": EVERYONE_405},

    # Agreement and runs
    "agreement": {"GET": READERS, "POST": EVERYONE_405},
    "disagreements": {"GET": READERS, "POST": EVERYONE_405},
    "disagreement_cause": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "disagreement_talk": {"GET": READERS, "POST": "302 404 403 403 302 302 404 404"},
    "amendments": {"GET": MEMBERS, "POST": EVERYONE_405},
    "amend": {"GET": MANAGERS, "POST": done(MANAGERS)},
    # The note has one submitted reading only: there is nothing to adjudicate, and to close, yet.
    "adjudications": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "adjudicate_next": {"GET": done(REVIEWERS), "POST": EVERYONE_405},
    "adjudicate_unanimous": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "adjudicate": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "adjudicate_decide": {"GET": EVERYONE_405, "POST": done(REVIEWERS, 409).replace("302", "401")},
    "adjudicate_cause": {"GET": EVERYONE_405, "POST": REVIEWERS.replace("302", "401")},
    "adjudicate_state": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "adjudicate_close": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "adjudicate_reopen": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    # Nothing is adjudicated here: nobody sees an outcome.
    "outcome": {"GET": "302 404 403 404 404 404 404 404", "POST": EVERYONE_405},
    "runs": {"GET": READERS, "POST": EVERYONE_405},
    "run": {"GET": READERS, "POST": EVERYONE_405},
    "judgings": {"GET": READERS, "POST": EVERYONE_405},
    # No server is listed in tests: the form says so.
    "judge": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "judging": {"GET": READERS, "POST": EVERYONE_405},
    "judging_places": {"GET": READERS, "POST": EVERYONE_405},
    "judging_again": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "runs_compare": {"GET": READERS, "POST": EVERYONE_405},
    # One reader alone can't be compared: back to the choice, which says so.
    "compare_places": {"GET": done(READERS), "POST": EVERYONE_405},
    "compare_start": {"GET": EVERYONE_405, "POST": done(READERS)},
    "run_start": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    # No server is listed in tests: the form says so.
    "run_llm": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "runs_together": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "run_combine": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "run_pipeline": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "run_tagger": {"GET": MANAGERS, "POST": done(MANAGERS, 422)},
    "run_retry": {"GET": EVERYONE_405, "POST": done(MANAGERS)},

    # Trained models
    "loop": {"GET": READERS, "POST": EVERYONE_405},
    "loop_freeze": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "models": {"GET": READERS, "POST": EVERYONE_405},
    "model": {"GET": READERS, "POST": EVERYONE_405},
    "model_train": {"GET": EVERYONE_405, "POST": done(MANAGERS, 422)},
    "model_upload": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "model_rename": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "model_retire": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "model_enough": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "model_file": {"GET": REVIEWERS, "POST": EVERYONE_405},

    # Backends, calibrations
    "backends": {"GET": READERS, "POST": EVERYONE_405},
    "calibration": {"GET": READERS, "POST": EVERYONE_405},
    "calibration_start": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "calibration_withdraw": {"GET": EVERYONE_405, "POST": done(MANAGERS)},

    # Review
    "review_next": {"GET": done(REVIEWERS), "POST": EVERYONE_405},
    "review": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "review_decide": {"GET": EVERYONE_405, "POST": REVIEWERS.replace("302", "401")},
    "review_state": {"GET": REVIEWERS, "POST": EVERYONE_405},
    "review_close": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "review_reopen": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},

    # Jobs
    "jobs": {"GET": READERS, "POST": EVERYONE_405},
    "job": {"GET": READERS, "POST": EVERYONE_405},
    "job_cancel": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "job_pause": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "job_resume": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "job_retry": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "job_start_import": {"GET": EVERYONE_405, "POST": done(MANAGERS)},
    "job_of_import": {"GET": "302 404 403 403 403 404 404 404", "POST": EVERYONE_405},
    "job_start_export": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "job_start_score": {"GET": EVERYONE_405, "POST": done(READERS)},
    "job_start_gold": {"GET": EVERYONE_405, "POST": done(REVIEWERS)},
    "agreement_start": {"GET": EVERYONE_405, "POST": done(READERS)},
    "agreement_progress": {"GET": done(READERS), "POST": EVERYONE_405},

    # Accounts
    "account_login": {"GET": "200 302 302 302 302 302 302 302", "POST": "200 302 302 302 302 302 302 302"},
    "account_logout": {"GET": SIGNED_IN, "POST": LEADS_ON},
    "account_inactive": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},
    "account_signup": {"GET": "403 403 403 403 403 403 403 403", "POST": OPEN_405},
    "account_reauthenticate": {"GET": SIGNED_IN, "POST": SIGNED_IN},
    "account_change_password": {"GET": SIGNED_IN, "POST": SIGNED_IN},
    "account_reset_password": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},
    "account_reset_password_from_key_done": {"GET": "200 200 200 200 200 200 200 200", "POST": OPEN_405},
    # Without a valid key: the page that says so.
    "account_reset_password_from_key": {"GET": "200 200 200 200 200 200 200 200",
                                        "POST": "200 200 200 200 200 200 200 200"},
    "mfa_index": {"GET": SIGNED_IN, "POST": EVERYONE_405},
    "mfa_authenticate": {"GET": LEADS_ON, "POST": LEADS_ON},
    "mfa_reauthenticate": {"GET": LEADS_ON, "POST": LEADS_ON},
    "mfa_activate_totp": {"GET": LEADS_ON, "POST": LEADS_ON},
    "mfa_deactivate_totp": {"GET": NOBODY, "POST": NOBODY},
    "mfa_view_recovery_codes": {"GET": NOBODY, "POST": EVERYONE_405},
    "mfa_generate_recovery_codes": {"GET": LEADS_ON, "POST": LEADS_ON},
    "mfa_download_recovery_codes": {"GET": NOBODY, "POST": NOBODY},

    # The admin: a stranger to staff rights is sent to the sign-in page, which tells the signed-in that it is closed.
    "admin:index": {"GET": STAFF, "POST": STAFF},
    "admin:login": {"GET": "302 403 403 403 403 403 403 302", "POST": "302 403 403 403 403 403 403 200"},
    "admin:logout": {"GET": done(STAFF, 405), "POST": LEADS_ON},
    "admin:password_change": {"GET": STAFF, "POST": STAFF},
    "admin:password_change_done": {"GET": STAFF, "POST": STAFF_405},
    "admin:autocomplete": {"GET": STAFF_403, "POST": STAFF_405},
    "admin:jsi18n": {"GET": STAFF, "POST": STAFF_405},
    "admin:view_on_site": {"GET": STAFF_404, "POST": STAFF_404},
    "admin:app_list": {"GET": STAFF, "POST": STAFF},
    "admin/(?P<url>.*)$": {"GET": STAFF_404, "POST": STAFF_404},
    "admin:auth_user_password_change": {"GET": STAFF, "POST": STAFF},
}
# fmt: on

# Looked at only; an account can be made and changed, an attempt to sign in deleted (which unlocks).
for _model in (
    "annotations_project", "annotations_membership", "annotations_labelset", "axes_accesslog", "axes_accessfailurelog",
):  # fmt: skip
    TABLE |= {
        f"admin:{_model}_changelist": {"GET": STAFF, "POST": STAFF},
        f"admin:{_model}_change": {"GET": STAFF, "POST": STAFF_403},
        f"admin:{_model}_add": {"GET": STAFF_403, "POST": STAFF_403},
        f"admin:{_model}_delete": {"GET": STAFF_403, "POST": STAFF_403},
        f"admin:{_model}_history": {"GET": STAFF, "POST": STAFF},
    }
TABLE |= {
    "admin:annotations_user_changelist": {"GET": STAFF, "POST": STAFF},
    "admin:annotations_user_change": {"GET": STAFF, "POST": STAFF},
    "admin:annotations_user_add": {"GET": STAFF, "POST": STAFF},
    "admin:annotations_user_delete": {"GET": STAFF_403, "POST": STAFF_403},
    "admin:annotations_user_history": {"GET": STAFF, "POST": STAFF},
}
TABLE |= {
    "admin:axes_accessattempt_changelist": {"GET": STAFF, "POST": STAFF},
    "admin:axes_accessattempt_change": {"GET": STAFF, "POST": STAFF_302},
    "admin:axes_accessattempt_add": {"GET": STAFF_403, "POST": STAFF_403},
    "admin:axes_accessattempt_delete": {"GET": STAFF, "POST": STAFF},
    "admin:axes_accessattempt_history": {"GET": STAFF, "POST": STAFF},
}
for _path in (
    "annotations/user", "annotations/project", "annotations/membership", "annotations/labelset",
    "axes/accessattempt", "axes/accesslog", "axes/accessfailurelog",
):  # fmt: skip
    TABLE[f"admin/{_path}/<path:object_id>/"] = {"GET": STAFF_302, "POST": STAFF_302}


def routes() -> dict[str, str]:
    """Every URL: its name with its namespace (its pattern where it has none), and the pattern."""

    def walk(resolver: URLResolver, prefix: str, space: str) -> Iterator[tuple[str, str]]:
        for entry in resolver.url_patterns:
            pattern = prefix + str(entry.pattern)
            if isinstance(entry, URLResolver):
                yield from walk(entry, pattern, f"{entry.namespace}:" if entry.namespace else space)
            elif isinstance(entry, URLPattern):
                yield (f"{space}{entry.name}" if entry.name else pattern), pattern

    found = list(walk(get_resolver(), "", ""))
    assert len({name for name, _ in found}) == len(found), "two URLs share a name"
    return dict(found)


ROUTES = routes()
SMALL = {backend: Foreign(backend, "small", "small", ("PER",), "it", "1.0") for backend in FOREIGN}


@pytest.fixture(autouse=True)
def models_of_others(monkeypatch):
    for backend, model in SMALL.items():
        monkeypatch.setitem(foreign.FOUND, backend, lambda model=model: [model])


@dataclass
class World:
    """Two projects with one of everything; `people` by persona."""

    ours: Project
    theirs: Project
    people: dict[str, User]
    objects: dict[str, dict[str, int]] = field(default_factory=dict)  # project slug -> kind -> id


def fill(project: Project, manager: User, reader: User) -> dict[str, int]:
    """One of everything in a project; ids by kind."""
    note = make_note(project, readers=[reader])
    make_author(project, kind="gold", name="gold")
    reading = make_set(note, reader, [(0, 11, "PATIENT")], submitted=True)
    open_note = make_note(project, readers=[reader])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "Anna Bianchi")
    packed.seek(0)
    staged = stage_import(
        project=project, name="a.zip", content=packed, format="text", written_as="", language="",
        take_duplicates=False, actor=manager,
    )  # fmt: skip
    run_author = make_author(project, kind="run", name="rules-1")
    proposals = make_set(note, run_author, [(0, 11, "PATIENT")], submitted=True)
    run = Run.objects.create(project=project, author=run_author, backend="rules", created_by=manager)
    job = Job.objects.create(project=project, kind="gold", key=f"matrix-{project.pk}", created_by=manager)
    counting = Job.objects.create(project=project, kind="agreement", key=f"matrix-{project.pk}-agreement")
    stored = StoredFile.objects.create(
        project=project, kind=StoredFile.Kind.EXPORT, name="brat.zip", created_by=manager,
        expires_at="2099-01-01T00:00:00Z",
    )  # fmt: skip
    weights = StoredFile.objects.create(project=project, kind=StoredFile.Kind.MODEL, name="crf-1.zip")
    model = TrainedModel.objects.create(
        project=project, name="crf-1", backend="crf", state=TrainedModel.State.READY, stored_file=weights
    )
    rule = {"kind": "threshold", "runs": [run_author.pk], "least": 0.0}
    # Numbers differ between projects, as ids do.
    number = 1 + GoldVersion.objects.count()
    version = GoldVersion.objects.create(
        project=project, number=number, content_hash="0" * 64, note_count=0, span_count=0, created_by=manager
    )
    calibration = make_calibration(run, version)
    judging = Judging.objects.create(
        project=project, author=run_author, gold_version=version, threshold=0.5, language="en", prompt_version="1"
    )
    return {
        "note": note.pk,
        "calibration": calibration.pk,
        "judging": judging.pk,
        "open_note": open_note.pk,
        "reading": reading.pk,
        "run": run.pk,
        "proposal": proposals.spans.get().pk,
        "run_author": run_author.pk,
        "model": model.pk,
        "import": staged.pk,
        "job": job.pk,
        "agreement_job": counting.pk,
        "file": stored.pk,
        "label": label_of(project, "CITY").pk,
        "member": Membership.objects.get(project=project, user=reader).pk,
        "membership": Membership.objects.get(project=project, user=reader).pk,
        "author": reading.author_id,
        "version": version.number,
        "string": ProposedString.objects.get(author=run_author).pk,
        "bulk": str(BulkAct.objects.create(project=project, user=manager, act="accept", rule=rule).pk),
        "search": str(Search.objects.create(project=project, user=reader, text="Rossi").pk),
        "project": project.pk,
        "labelset": project.label_set.pk,
        "user": reader.pk,
        "accessattempt": AccessAttempt.objects.create(username=f"a{note.pk}", failures_since_start=1).pk,
        "accesslog": AccessLog.objects.create(username=f"a{note.pk}").pk,
        "accessfailurelog": AccessFailureLog.objects.create(username=f"a{note.pk}").pk,
    }


@pytest.fixture
def world() -> World:
    ours, theirs = make_project("ours"), make_project("theirs")
    people = {role: make_member(ours, role, role) for role in Role.values}
    people["stranger"] = make_user("stranger")
    people["rival"] = make_member(theirs, Role.MANAGER, "rival")
    people["administrator"] = make_user("root", is_staff=True, is_superuser=True)
    built = World(ours, theirs, people)
    built.objects["ours"] = fill(ours, people["manager"], people["annotator"])
    built.objects["theirs"] = fill(theirs, people["rival"], people["rival"])
    return built


REVIEWED = {"review", "review_decide", "review_state", "review_close", "review_reopen"}
TALK = {"talk", "comments", "flag"}
PLACED = {"disagreement_cause", "disagreement_talk", "outcome"}
ADJUDICATED = {f"adjudicate{act}" for act in ("", "_decide", "_cause", "_state", "_close", "_reopen")} | PLACED
KINDS = {
    "note": {"note", "note_gold", "note_gold_withdraw", "annotate", "note_data", "spans", "reopen"}
    | TALK
    | REVIEWED
    | ADJUDICATED,
    "open_note": {"changes", "submit"},
    "import": {"import_preview", "import_report", "job_start_import", "job_of_import"},
    "label": {"label_edit", "label_merge"},
    "member": {"member_role", "member_remove", "member_link"},
    "job": {"job", "job_cancel", "job_pause", "job_resume", "job_retry"},
    "agreement_job": {"agreement_progress"},
    "run": {"run", "run_retry"},
    "run_author": {"review_next"},
    "string": {"review_string"},
    "model": {"model", "model_rename", "model_retire", "model_enough", "model_file"},
    "calibration": {"calibration", "calibration_withdraw"},
    "judging": {"judging", "judging_places", "judging_again"},
    "file": {"file_download"},
    "version": {"gold_version", "gold_changes", "gold_split", "score", "score_places"},
}
SPECIAL = {
    "script_words": "words/en/present.js",
    "account_reset_password_from_key": "accounts/password/reset/key/1-set-password/",
    "admin:app_list": "admin/annotations/",
    "admin/(?P<url>.*)$": "admin/nowhere/",
    "admin:auth_user_password_change": "admin/annotations/user/{user}/password/",
    "admin:view_on_site": "admin/r/0/0/",
}


def kind_of(name: str) -> str:
    return next((kind for kind, names in KINDS.items() if name in names), "")


def url_of(name: str, world: World, slug: str = "ours", objects: str = "ours") -> str:
    """The address of a route in project `slug`, naming the object of project `objects`."""
    ids = world.objects[objects]
    if name in SPECIAL:
        return "/" + SPECIAL[name].format(**ids)
    model = re.search(r"admin/\w+/(\w+)/", ROUTES[name])
    values = {
        "slug": slug,
        "pk": ids.get(kind_of(name), 0),
        "author": ids["run_author"],
        "version": ids["version"],
        "search": ids["search"],
        "bulk": ids["bulk"],
        "format": "csv",
        "name": "small",
        "start": 0,
        "end": 11,
        "object_id": ids[model[1]] if model and "object_id" in ROUTES[name] else 0,
    }
    return "/" + re.sub(r"<\w+:(\w+)>", lambda found: str(values[found[1]]), ROUTES[name])


def form_of(name: str, world: World, objects: str = "ours") -> dict:
    """What is sent with a POST: enough to do the thing where it is allowed."""
    ids = world.objects[objects]
    return {
        "project_new": {"name": "A new one", "label_set": "meddocan"},
        "assign_notes": {
            "reader": world.people["annotator"].pk,
            "names": Document.objects.get(pk=ids["open_note"]).name,
        },
        "guidelines_edit": {"text": "# Names", "seen_version": 0},
        "amend": {"text": "A ward is no name.", "seen_version": 0},
        "disagreement_cause": {"kind": "AB"},
        "disagreement_talk": {"text": "A word."},
        "import_preview": {"do": "discard"},
        "member_role": {"role": "viewer"},
        "comments": {"act": "add", "text": "A word."},
        "flag": {"act": "raise", "reason": "unsure"},
        "search": {"text": "Rossi"},
        "note_gold": {"set": ids["reading"], "version": 0},
        "run_start": {"backend": "rules"},
        "calibration_start": {"author": ids["run_author"], "gold": ids["version"]},
        "model_train": {"gold": ids["version"]},
        "model_rename": {"name": "Another"},
        "job_start_export": {"format": "brat", "set": "gold"},
        "job_start_gold": {"author": ids["author"]},
        "agreement_start": {"unit": "token"},
    }.get(name, {})


def ask(client: Client, method: str, name: str, world: World, slug: str = "ours", objects: str = "ours") -> int:
    url = url_of(name, world, slug, objects)
    if method == "GET":
        return client.get(url).status_code
    if name == "changes":
        change = {
            "change_id": "6f0c6d5e-0000-4000-8000-000000000001", "kind": "create", "start": 13, "end": 15,
            "label": world.objects[objects]["label"], "quote": "54",
        }  # fmt: skip
        return client.post(url, change, content_type="application/json").status_code
    if name in ("adjudicate_decide", "adjudicate_cause"):
        place = {"start": 0, "end": 11, "kind": "AB"}
        act = {
            "change_id": "6f0c6d5e-0000-4000-8000-000000000003", "act": "nothing", "seen": [[0, 11, "key"]],
            "person": int(client.session.get("_auth_user_id", 0)),
        }  # fmt: skip
        return client.post(url, act | place, content_type="application/json").status_code
    if name == "review_decide":
        decision = {
            "change_id": "6f0c6d5e-0000-4000-8000-000000000002", "act": "accept", "seen": ["open"],
            "proposal": world.objects[objects]["proposal"], "person": int(client.session.get("_auth_user_id", 0)),
        }  # fmt: skip
        return client.post(url, decision, content_type="application/json").status_code
    return client.post(url, form_of(name, world, objects)).status_code


def as_persona(world: World, persona: str) -> Client:
    client = Client(raise_request_exception=False)
    if persona != "anonymous":
        client.force_login(world.people[persona])
    return client


def visit(world: World, persona: str, method: str, name: str) -> int:
    return ask(as_persona(world, persona), method, name, world)


class Undo(Exception):
    pass


def undone(act: Callable[[], int]) -> int:
    """What `act` returns, with everything it wrote taken back."""
    try:
        with transaction.atomic():
            status = act()
            raise Undo
    except Undo:
        return status


def test_the_table_and_the_urls_are_the_same():
    assert {
        "missing in the table": sorted(set(ROUTES) - set(TABLE)),
        "no such URL": sorted(set(TABLE) - set(ROUTES)),
    } == {
        "missing in the table": [],
        "no such URL": [],
    }


@pytest.mark.parametrize("name", TABLE)
def test_access(world, name):
    expected = {method: dict(zip(PERSONAS, map(int, row.split()), strict=True)) for method, row in TABLE[name].items()}
    found = {
        method: {persona: undone(partial(visit, world, persona, method, name)) for persona in PERSONAS}
        for method in TABLE[name]
    }
    assert found == expected


def refused(world: World, names: set[str], persona: str, **where: str) -> dict[str, dict[str, int]]:
    """What a persona gets for each route, by method, where the only right answers are 404 and 405."""
    client = as_persona(world, persona)
    return {
        f"{method} {name}": status
        for name in sorted(names & set(ROUTES))
        for method, row in TABLE[name].items()
        if (status := undone(partial(ask, client, method, name, world, **where)))
        != (405 if row == EVERYONE_405 else 404)
    }


def test_the_objects_of_another_project_are_not_reached_through_ones_own(world):
    """A manager who puts another project's id after their own project's name."""
    assert refused(world, set().union(*KINDS.values()), "manager", slug="ours", objects="theirs") == {}


def test_an_annotator_reaches_only_the_notes_that_are_theirs(world):
    other = make_note(world.ours, "Another note.")
    world.objects["ours"] |= {"note": other.pk, "open_note": other.pk}
    theirs_to_read = {"annotate", "note_data", "changes", "spans", "submit", "reopen"} | TALK
    assert refused(world, theirs_to_read, "annotator") == {}


def test_a_member_who_was_removed_is_a_stranger(world):
    Membership.objects.filter(project=world.ours).update(active=False)
    inside = {name for name, pattern in ROUTES.items() if "<slug:slug>" in pattern}
    assert len(inside) > 30
    assert refused(world, inside, "manager") == {}
