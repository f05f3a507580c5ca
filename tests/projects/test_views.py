"""The list of projects, a new project, and the counts of the overview."""

from unittest.mock import patch

from django.urls import reverse

from annotations.core.access import enter
from annotations.models import Assignment, AssignmentState, Event, Membership, Project, Role
from annotations.projects.events import PROJECT_CREATED
from annotations.projects.selectors import projects as selector
from tests import factories as make
from tests.worlds.checks import check_page

NEW = {"name": "Ward seven", "label_set": "i2b2-2014", "language": "it"}
COVID, ADD = "/projects/covid/", reverse("project_new")


# ── The list ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_list_shows_each_person_their_own_projects_and_work(world, mia, ann, sign_in):
    Assignment.objects.filter(user=world.ann, document=world.note).update(state=AssignmentState.DONE)
    make.make_set(world.note, make.make_author(world.project, kind="gold", name="gold"), submitted=True)
    assert "1 of 2 notes" in check_page(mia.get("/"))
    html = check_page(ann.get("/"))
    assert "Covid ward" in html and "Other ward" not in html
    assert "1 done, 1 to do" in html and reverse("next_note", args=["covid"]) in html
    Membership.objects.filter(user=world.ann).update(active=False)
    html = check_page(ann.get("/"))
    assert "Covid ward" not in html and ADD not in html
    assert ADD in check_page(sign_in(make.make_user("root", is_staff=True)).get("/"))


# ── A new one ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_manager_makes_a_project(world, mia):
    assert 'value="i2b2-2014" required aria-describedby="set-i2b2-2014-text" checked' in check_page(mia.get(ADD))
    for _ in range(2):  # a double click makes one project
        assert mia.post(ADD, NEW).url == "/projects/ward-seven/"
    project = Project.objects.get(name="Ward seven")
    assert (project.language, project.created_by, project.label_set.key) == ("it", world.mia, "i2b2-2014")
    assert Membership.objects.get(project=project).role == Role.MANAGER
    assert Event.objects.filter(verb=PROJECT_CREATED, project_id=project.pk, actor=world.mia).count() == 1


def test_a_bad_form_makes_nothing_and_keeps_its_values(world, mia):
    html = check_page(mia.post(ADD, NEW | {"name": "Covid"}))
    assert "already exists" in html and 'value="Covid"' in html
    for field, value in (("name", ""), ("name", "–––"), ("label_set", "none"), ("language", "x y")):
        assert "errorlist" in check_page(mia.post(ADD, NEW | {field: value}))
    assert Project.objects.count() == 2


# ── The counts ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_large_project_is_counted_after_the_page(world, mia, django_assert_max_num_queries):
    with patch.object(selector, "CAP", 1):
        html = check_page(mia.get(COVID))
        notes = selector.my_projects(world.mia)[0].notes
    assert (notes.n, notes.more) == (1, True) and "Counting a large project" in html
    with django_assert_max_num_queries(34):  # each part of the page shares the counts
        fragment = check_page(mia.get(COVID, headers={"HX-Request": "true"}), fragment=True)
    assert "From notes to gold" in fragment


def test_counting_takes_few_queries_and_no_spans(world, django_assert_num_queries):
    for n in range(4):
        person = make.make_member(world.project, user=f"more{n}")
        make.make_set(world.note, person, [(0, 5, "PATIENT")], submitted=True)
    make.make_set(world.note, make.make_author(world.project, name="imported"), submitted=True)
    access = enter(world.mia, world.project.slug)
    with django_assert_num_queries(4) as captured:
        found = access.once(selector.counts)
        assert found is access.once(selector.counts), "counted once for a request"
    assert sum(author.submitted for author in found.authors) == 5
    assert not any("annotations_span" in query["sql"] for query in captured.captured_queries)
    author = next(one for one in found.authors if one.name == "imported")
    assert (author.submitted, author.assigned) == (1, 0), "an author without an account counts"
