from types import SimpleNamespace
from unittest.mock import patch

import pytest
from django.db.models import Model
from django.urls import reverse

from annotations.models import Assignment, Event, Membership, Project, Role
from annotations.projects.events import PROJECT_CREATED
from annotations.projects.selectors import projects as selector
from tests import factories as make
from tests.worlds.checks import check_page

NEW = {"name": "Ward seven", "label_set": "i2b2-2014", "language": "it"}


def overview(slug: str = "covid") -> str:
    return reverse("project", args=[slug])


# ── The list ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_list_holds_only_my_projects(world, sign_in):
    html = check_page(sign_in(world.ann).get("/"))
    assert "Covid ward" in html
    assert "Other ward" not in html


def test_the_list_shows_an_annotator_what_is_to_do(world, sign_in):
    Assignment.objects.filter(user=world.ann, document=world.note).update(state=Assignment.State.DONE)
    html = check_page(sign_in(world.ann).get("/"))
    assert "1 done, 1 to do" in html
    assert reverse("next_note", args=["covid"]) in html


def test_the_list_shows_others_notes_and_gold(world, sign_in):
    gold = make.make_author(world.project, kind="gold", name="gold")
    make.make_set(world.note, gold, submitted=True)
    assert "1 of 2 notes" in check_page(sign_in(world.mia).get("/"))


def test_the_list_is_one_query_for_any_number_of_projects(world, sign_in, django_assert_num_queries):
    for _ in range(5):
        make.make_member(make.make_project(), "annotator", world.ann)
    with django_assert_num_queries(1):
        assert len(selector.my_projects(world.ann)) == 6


def test_counts_stop_at_the_cap(world):
    with patch.object(selector, "CAP", 1):
        line = selector.my_projects(world.mia)[0]
    assert (line.notes.n, line.notes.more) == (1, True)
    assert line.notes.text == "more than 1"


def test_without_a_project_the_list_says_what_to_do(db, sign_in):
    html = check_page(sign_in(make.make_user("nobody")).get("/"))
    assert "Ask a manager of your project" in html
    assert reverse("project_new") not in html
    assert "New project" in check_page(sign_in(make.make_user("root", is_staff=True)).get("/"))


def test_former_members_dont_see_the_project(world, sign_in):
    Membership.objects.filter(user=world.ann).update(active=False)
    assert "Covid ward" not in sign_in(world.ann).get("/").content.decode()
    assert sign_in(world.ann).get(overview()).status_code == 404


# ── A new one ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_manager_makes_a_project(world, sign_in):
    client = sign_in(world.mia)
    html = check_page(client.get(reverse("project_new")))
    assert 'value="i2b2-2014" required aria-describedby="set-i2b2-2014-text" checked' in html
    response = client.post(reverse("project_new"), NEW)
    project = Project.objects.get(slug="ward-seven")
    assert response.url == overview("ward-seven")
    assert (project.language, project.created_by, project.label_set.key) == ("it", world.mia, "i2b2-2014")
    assert Membership.objects.get(project=project).role == Role.MANAGER
    assert Event.objects.filter(verb=PROJECT_CREATED, project_id=project.pk, actor=world.mia).count() == 1
    assert "Next steps" in check_page(client.get(response.url))


def test_a_double_click_makes_one_project(world, sign_in):
    client = sign_in(world.mia)
    assert client.post(reverse("project_new"), NEW).url == client.post(reverse("project_new"), NEW).url
    assert Project.objects.filter(name="Ward seven").count() == 1


def test_a_taken_name_is_an_error_and_the_form_keeps_its_values(world, sign_in):
    response = sign_in(world.mia).post(reverse("project_new"), NEW | {"name": "Covid"})
    html = check_page(response)
    assert "already exists" in html
    assert 'value="Covid"' in html
    assert Project.objects.count() == 2


@pytest.mark.parametrize("field, value", [("name", ""), ("name", "–––"), ("label_set", "none"), ("language", "x y")])
def test_a_bad_form_makes_nothing(world, sign_in, field, value):
    response = sign_in(world.mia).post(reverse("project_new"), NEW | {field: value})
    assert "errorlist" in check_page(response)
    assert Project.objects.count() == 2


# ── The overview ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_manager_sees_steps_and_counts(world, sign_in):
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")], submitted=True)
    make.make_set(world.note, world.ben, [(0, 11, "PATIENT")])
    html = check_page(sign_in(world.mia).get(overview()))
    assert "Next steps" in html
    assert "ann: 1 of 2 notes submitted" in html
    assert "ben: 0 of 2 notes submitted" in html


def test_an_annotator_sees_only_their_own_work(world, sign_in):
    html = check_page(sign_in(world.ann).get(overview()))
    assert "0 done, 2 to do" in html
    assert "Start" in html
    assert "ben" not in html
    assert "From notes to gold" not in html
    assert sign_in(world.ann).get(overview(), headers={"HX-Request": "true"}).status_code == 403


def test_the_page_tells_an_annotator_without_notes(world, sign_in):
    cas = make.make_member(world.project, user="cas")
    assert "No notes assigned to you yet" in check_page(sign_in(cas).get(overview()))


def test_a_large_project_is_counted_after_the_page(world, sign_in):
    client = sign_in(world.mia)
    with patch.object(selector, "CAP", 1):
        html = check_page(client.get(overview()))
    assert "Counting a large project" in html
    fragment = check_page(client.get(overview(), headers={"HX-Request": "true"}), fragment=True)
    assert "From notes to gold" in fragment


def test_counting_takes_few_queries_and_no_spans(world, django_assert_num_queries, django_capture_on_commit_callbacks):
    for n in range(4):
        person = make.make_member(world.project, user=f"more{n}")
        make.make_set(world.note, person, [(0, 5, "PATIENT")], submitted=True)
    with django_assert_num_queries(6) as captured:
        found = selector.tally(world.project)
    assert sum(author.submitted for author in found.authors) == 4
    assert not any("annotations_span" in query["sql"] for query in captured.captured_queries)


def test_imported_annotations_without_an_account_count(world: SimpleNamespace):
    outside: Model = make.make_author(world.project, name="from-elsewhere")
    make.make_set(world.note, outside, submitted=True)
    author = next(one for one in selector.tally(world.project).authors if one.name == "from-elsewhere")
    assert (author.submitted, author.assigned) == (1, 0)
