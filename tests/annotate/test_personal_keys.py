"""Personal keys: a label's key as one person uses it."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.urls import reverse

from annotations.annotate.selectors.personal import PROGRAM_KEYS, key_lines, own_labels
from annotations.annotate.services.personal import reset_keys, set_keys
from annotations.core.access import enter
from annotations.core.errors import ServiceError
from annotations.domain.labels import RESERVED_HOTKEYS
from annotations.models import Event, Label, PersonalKey, User
from annotations.projects.services.labels import merge_labels, update_label
from tests import factories as make
from tests.annotate.test_views import client_of

pytestmark = pytest.mark.django_db
# The project's: PATIENT 1, DOCTOR 2, DATE d, CITY c, HOSPITAL h, AGE none.


def choose(world: SimpleNamespace, user: User | None = None, **keys: str) -> list[str]:
    access = enter(user or world.ann, "covid")
    return set_keys(access=access, keys={world.labels[name]: key for name, key in keys.items()})


def keys(world: SimpleNamespace, user: User | None = None) -> dict[str, str]:
    lines = key_lines(world.project.pk, (user or world.ann).pk)
    found = {line.label["id"]: line.key for line in lines}
    names = {pk: name for name, pk in world.labels.items()}
    labels = own_labels(world.project.pk, (user or world.ann).pk)
    assert {label["id"]: label["key"] for label in labels} == found
    return {names[pk]: key for pk, key in found.items()}


def test_the_projects_keys_at_first(world: SimpleNamespace) -> None:
    assert keys(world) == {"PATIENT": "1", "DOCTOR": "2", "DATE": "d", "CITY": "c", "HOSPITAL": "h", "AGE": ""}


def test_a_choice_is_ones_own(world: SimpleNamespace) -> None:
    assert choose(world, AGE="q", CITY="") == []
    assert (keys(world)["AGE"], keys(world)["CITY"]) == ("q", "")
    assert keys(world, world.ben)["AGE"] == ""
    event = Event.objects.get(verb="keys.changed")
    assert event.data == {"keys": {"AGE": "q", "CITY": "none"}}


def test_a_key_is_lost_by_the_label_that_had_it_and_comes_back(world: SimpleNamespace) -> None:
    assert choose(world, AGE="c") == ["CITY"]
    assert (keys(world)["AGE"], keys(world)["CITY"]) == ("c", "")
    assert choose(world, AGE="q") == []
    assert keys(world)["CITY"] == "c"
    choose(world, AGE="")
    assert PersonalKey.objects.count() == 0


def test_a_chosen_key_can_be_taken_too(world: SimpleNamespace) -> None:
    choose(world, AGE="q")
    assert choose(world, CITY="q") == ["AGE"]
    assert (keys(world)["AGE"], keys(world)["CITY"]) == ("", "q")


def test_two_labels_swap_their_keys(world: SimpleNamespace) -> None:
    assert choose(world, PATIENT="2", DOCTOR="1") == []
    assert (keys(world)["PATIENT"], keys(world)["DOCTOR"]) == ("2", "1")
    choose(world, PATIENT="1", DOCTOR="2")
    assert PersonalKey.objects.count() == 0


def test_keys_that_no_label_can_have(world: SimpleNamespace) -> None:
    for key in (*RESERVED_HOTKEYS, "é", "ab", "-", "N"):
        with pytest.raises(ServiceError) as caught:
            choose(world, AGE=key)
        if key.lower() in PROGRAM_KEYS:
            assert str(PROGRAM_KEYS[key.lower()]) in str(caught.value)
    assert not PersonalKey.objects.exists()


def test_every_key_of_the_program_says_what_it_does() -> None:
    assert set(PROGRAM_KEYS) == RESERVED_HOTKEYS


def test_two_labels_cant_have_one_key(world: SimpleNamespace) -> None:
    with pytest.raises(ServiceError, match=r"DATE and AGE can't have|AGE and DATE can't have"):
        choose(world, AGE="z", DATE="z")
    assert keys(world)["DATE"] == "d"


def test_what_a_manager_changes_later(world: SimpleNamespace) -> None:
    choose(world, AGE="q")
    update_label(label=make.label_of(world.project, "CITY"), actor=world.mia, hotkey="q")
    assert (keys(world)["AGE"], keys(world)["CITY"]) == ("q", "")
    assert keys(world, world.ben)["CITY"] == "q"
    update_label(label=make.label_of(world.project, "CITY"), actor=world.mia, hotkey="t")
    assert keys(world)["CITY"] == "t"


def test_a_merged_labels_key_is_free_again(world: SimpleNamespace) -> None:
    choose(world, AGE="q")
    age, date = make.label_of(world.project, "AGE"), make.label_of(world.project, "DATE")
    merge_labels(source=age, target=date, actor=world.mia)
    assert not PersonalKey.objects.exists()
    assert choose(world, CITY="q") == []
    assert keys(world)["DATE"] == "d"


def test_reset(world: SimpleNamespace) -> None:
    choose(world, AGE="q", CITY="z")
    choose(world, world.ben, AGE="b")
    reset_keys(access=enter(world.ann, "covid"))
    reset_keys(access=enter(world.ann, "covid"))
    assert keys(world)["AGE"] == "" and keys(world, world.ben)["AGE"] == "b"
    assert Event.objects.filter(verb="keys.changed").count() == 3


def test_labels_of_another_project_are_left_alone(world: SimpleNamespace) -> None:
    other = Label.objects.get(label_set__project=make.make_project("other"), name="AGE")
    set_keys(access=enter(world.ann, "covid"), keys={other.pk: "q", 10**12: "b"})
    assert not PersonalKey.objects.exists()


# ── The page ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def form(world: SimpleNamespace, **over: str) -> dict[str, Any]:
    return {f"key-{world.labels[name]}": over.get(name, key) for name, key in keys(world).items()}


def test_the_page(world: SimpleNamespace) -> None:
    ann = client_of(world.ann)
    path = reverse("keys", args=["covid"])
    html = ann.get(path).content.decode()
    assert "Key of CITY" in html and "guidelines" in html
    answer = ann.post(path, form(world, AGE="c"), follow=True)
    html = answer.content.decode()
    assert "Your keys are saved." in html and "These labels have no key now: CITY." in html
    assert keys(world)["AGE"] == "c"
    html = ann.post(path, {"do": "reset"}, follow=True).content.decode()
    assert "Your keys are reset to the project&#x27;s keys." in html
    assert keys(world)["AGE"] == ""


def test_the_way_back_to_the_note_that_it_was_opened_from(world: SimpleNamespace) -> None:
    ann, path, note = (
        client_of(world.ann),
        reverse("keys", args=["covid"]),
        reverse("annotate", args=["covid", world.note.pk]),
    )
    there = f"{path}?note={world.note.pk}"
    for data in (None, form(world, AGE="z"), form(world, AGE="n"), {"do": "reset"}):
        answer = ann.get(there) if data is None else ann.post(there, data, follow=True)
        assert f'href="{note}"' in answer.content.decode(), data
    elsewhere = make.make_note(world.project, name="not-anns")
    for asked in ("", f"?note={elsewhere.pk}", "?note=x"):
        html = ann.get(path + asked).content.decode()
        assert "Back to" not in html and "not-anns" not in html


def test_a_key_from_before_it_was_reserved_stays_until_it_is_changed(world: SimpleNamespace) -> None:
    Label.objects.filter(name="CITY").update(hotkey="v")
    path = reverse("keys", args=["covid"])
    assert client_of(world.ann).post(path, form(world, AGE="z")).status_code == 302
    assert (keys(world)["CITY"], keys(world)["AGE"]) == ("v", "z")
    answer = client_of(world.ann).post(path, form(world, AGE="v", CITY=""))
    assert answer.status_code == 422 and "masked view in review" in answer.content.decode()


def test_what_the_page_refuses(world: SimpleNamespace) -> None:
    ann = client_of(world.ann)
    path = reverse("keys", args=["covid"])
    answer = ann.post(path, form(world, AGE="n"))
    assert answer.status_code == 422
    assert "next note" in answer.content.decode()
    answer = ann.post(path, form(world, AGE="z", DATE="z"))
    assert answer.status_code == 422
    assert "can&#x27;t have the same key" in answer.content.decode()
    assert ann.post(path, form(world, AGE="\0")).status_code == 400
    assert ann.post(path, {}).status_code == 302  # nothing asked, nothing changed
    assert not PersonalKey.objects.exists()
