"""Pages of policies: the list, the editor with examples, and the changes between versions."""

import pytest
from django.urls import reverse

from annotations.models import LabelSet, ReleasePolicy
from tests import factories as make
from tests.worlds.checks import check_page

POLICIES, MASK = reverse("release_policies", args=["covid"]), reverse("release_policy", args=["covid", "mask"])


@pytest.fixture
def editor(clinic, sign_in):
    clinic.client = sign_in(clinic.mia)
    return clinic


def sent(editor, slug="mask", **changes):
    """The form of the editor as the page shows it, with changes such as `action-CITY`."""
    page = editor.client.get(reverse("release_policy", args=["covid", slug]))
    form = page.context["form"]
    data = {name: form[name].value() for name in form.fields}
    data["seen"] = page.context["policy"].version
    return {name: value for name, value in (data | changes).items() if value not in (False, None)}


def test_the_editor_shows_a_rule_and_an_example_for_each_label(editor):
    html = check_page(editor.client.get(MASK))
    assert "Maria Rossi" in html and "<strong>[PATIENT]</strong>" in html
    assert html.count('class="policy-example"') == 28
    html = check_page(editor.client.get(reverse("release_policy", args=["covid", "surrogate"])))
    assert "Laura Conti" in html and "version 1" in html
    check_page(editor.client.post(MASK, sent(editor), follow=True))
    assert ReleasePolicy.objects.filter(slug="mask").count() == 1, "nothing has changed"


def test_saving_makes_the_next_version_with_its_changes(editor):
    data = sent(editor, **{"action-CITY": "surrogate", "numbered-PATIENT": "on"})
    html = check_page(editor.client.post(MASK, data, follow=True))
    changes = html.split('id="v2"')[1].split('id="v1"')[0]
    assert "<del>Mask (City)</del> <ins>Replace with a surrogate (City)</ins>" in changes
    assert "<ins>Mask, numbered (Patient or relative)</ins>" in changes
    assert "<strong>[PATIENT 1]</strong>" in html
    saved = ReleasePolicy.objects.get(slug="mask", version=2)
    assert saved.created_by == editor.mia
    assert saved.rules["CITY"] == {"kind": "city", "action": "surrogate", "numbered": False}
    # The shipped description would be wrong now.
    assert "Changed in this project: 1 label" in html and "Every labeled span becomes" not in html
    # A release keeps its version.
    editor.release.refresh_from_db()
    assert editor.release.policy.version == 1


def test_a_policy_is_saved_as_a_new_one(editor):
    data = sent(editor, **{"action-CITY": "keep", "new_name": "Cities stay", "new_slug": "cities", "act": "copy"})
    for _click in range(2):
        assert "Cities stay" in check_page(editor.client.post(MASK, data, follow=True))
    saved = ReleasePolicy.objects.get(slug="cities")
    assert (saved.version, saved.rules["CITY"]["action"]) == (1, "keep")
    assert "Cities stay" in check_page(editor.client.get(POLICIES))
    form = sent(editor, **{"act": "copy", "action-CITY": "keep"})
    for changes in (
        {"new_name": "Mine"}, {"new_name": "Mine", "new_slug": "safe-harbor"}, {"new_name": "Mine", "new_slug": "mask"},
        {"new_name": "Mine", "new_slug": "My own"}, {"new_name": "Mine", "new_slug": "mine", "act": ""},
    ):  # fmt: skip
        assert editor.client.post(MASK, form | changes).status_code == 422, changes
    assert ReleasePolicy.objects.count() == 2


def test_labels_without_a_kind_are_named_and_can_be_mapped(editor):
    assert "as shipped" in check_page(editor.client.get(POLICIES))
    LabelSet.objects.filter(project=editor.project).update(key="test")
    ReleasePolicy.objects.update(project=make.make_project("elsewhere"))  # where nobody asks for kinds
    assert "28 labels without a rule" in check_page(editor.client.get(POLICIES))
    page = reverse("release_policy", args=["covid", "remove"])
    assert "28 labels have no rule: " in check_page(editor.client.get(page))
    data = {"name": "Remove", "seen": "0"}
    for code in editor.labels:
        data |= {f"kind-{code}": "other", f"action-{code}": "remove"}
    check_page(editor.client.post(page, data, follow=True))
    assert ReleasePolicy.objects.get(slug="remove").version == 1


def test_an_example_follows_the_fields_of_its_row(editor):
    data = sent(editor, **{"action-DATE": "generalize", "example": "DATE"})
    response = editor.client.post(MASK, data, headers={"HX-Request": "true"})
    assert "<strong>2021</strong>" in check_page(response, fragment=True)
    data |= {"action-DATE": "remove"}
    assert "removed" in editor.client.post(MASK, data).content.decode()
    data |= {"kind-DATE": "city", "action-DATE": "shift"}
    assert "not possible" in editor.client.post(MASK, data).content.decode()
    assert editor.client.post(MASK, data | {"example": "PLANET"}).status_code == 404
    assert ReleasePolicy.objects.filter(slug="mask").count() == 1
