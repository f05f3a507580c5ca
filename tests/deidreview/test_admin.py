"""The admin: accounts, and a read-only view of projects' settings; never note text."""

import pytest
from django.contrib import admin
from django.urls import reverse

from annotations.models import User
from tests.factories import make_member, make_note, make_project, make_set, make_user

SHOWN = {
    "annotations.User", "annotations.Project", "annotations.Membership", "annotations.LabelSet",
    "axes.AccessAttempt", "axes.AccessLog", "axes.AccessFailureLog",
}  # fmt: skip


@pytest.fixture
def root(db, client):
    client.raise_request_exception = False
    client.force_login(make_user("root", is_staff=True, is_superuser=True))
    return client


def test_nothing_else_is_registered_and_no_page_shows_note_text(root):
    assert {model._meta.label for model in admin.site._registry} == SHOWN
    project = make_project("covid", guidelines="see Mario Rossi")
    note = make_note(project, "Mario Rossi, 54")
    make_set(note, make_member(project), [(0, 11, "PATIENT")])
    for label in sorted(SHOWN):
        app, model = label.lower().split(".")
        listing = root.get(reverse(f"admin:{app}_{model}_changelist"))
        assert listing.status_code == 200 and b"Mario" not in listing.content
    for model, pk in [("project", project.pk), ("labelset", project.label_set.pk)]:
        page = root.get(reverse(f"admin:annotations_{model}_change", args=[pk]))
        assert page.status_code == 200 and b"Mario" not in page.content

    # Projects are read-only.
    for view in ("change", "delete"):
        assert root.post(reverse(f"admin:annotations_project_{view}", args=[project.pk]), {}).status_code == 403
    assert root.post(reverse("admin:annotations_project_add"), {}).status_code == 403


def test_an_account_can_be_created_and_disabled_but_not_deleted(root):
    word = "correct horse battery"
    data = {"username": "grace", "password1": word, "password2": word, "usable_password": "true"}
    assert root.post(reverse("admin:annotations_user_add"), data).status_code == 302
    grace = User.objects.get(username="grace")
    page = root.get(reverse("admin:annotations_user_change", args=[grace.pk]))
    assert page.status_code == 200 and b"Permissions" not in page.content
    assert root.post(reverse("admin:annotations_user_delete", args=[grace.pk]), {"post": "yes"}).status_code == 403


def test_the_admin_passes_nothing_on_that_a_database_refuses(root):
    page, users = reverse("admin:axes_accesslog_changelist"), reverse("admin:annotations_user_changelist")
    wrong = [{"id__in": str(2**63)}, {"id__in": f"1,{2**63}"}, {"attempt_time__year": str(2**31)}]
    for query in (*wrong, {"q": "word " * 2_000}):
        assert root.get(page, query).status_code == 400, query
    for query in ({"q": "root"}, {"q": "9" * 200}, {"attempt_time__year": "2026"}, {"o": "-1.2"}, {"p": "1"}):
        assert root.get(page, query).status_code in (200, 302), query
    chosen = {"action": "remove_second_factor", "_selected_action": [str(User.objects.get(username="root").pk)]}
    assert root.post(users, chosen).status_code == 302
    for row in ("9" * 5_000, str(2**63), "²", "nan", "-1", ""):
        assert root.post(users, chosen | {"_selected_action": row}).status_code == 400, row
    page = reverse("admin:annotations_project_change", args=[make_project().pk])
    assert root.get(page, {"_to_field": ""}).status_code == 400
    assert root.get(page, {"_to_field": "id"}).status_code == 200
