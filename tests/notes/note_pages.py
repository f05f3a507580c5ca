"""URLs of the pages of notes, and what the tests look for on them."""

import re

from django.urls import reverse

from annotations.models import AnnotationSet
from tests import factories as make

ROSSI = (0, 11, "PATIENT")
DATE = (31, 41, "DATE")


def listing(query: str = "", slug: str = "covid") -> str:
    return reverse("notes", args=[slug]) + query


def page_of(pk: int, query: str = "", slug: str = "covid") -> str:
    return reverse("note", args=[slug, pk]) + query


def gold_of(note, spans=()) -> AnnotationSet:
    return make.make_set(note, make.make_author(note.project, kind="gold", name="gold"), spans, submitted=True)


def names(html: str) -> list[str]:
    return re.findall(r"caso-\d+(?=</a>)", html)
