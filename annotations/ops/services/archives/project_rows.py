"""The first rows of an archive: people, labels and authors, which all others name; and the project itself."""

from datetime import datetime
from itertools import islice
from typing import NamedTuple

from django.db.models import Value
from django.db.models.functions import Concat

from annotations.core.authors import IMPORTED
from annotations.formats.files.archives import ArchiveError
from annotations.models import Author, Label, Project
from annotations.ops.services.archives import tables
from annotations.ops.services.archives.people import accounts_here, make_account, name_of
from annotations.ops.services.archives.rows import Rows, at


class People(NamedTuple):
    """How many people an archive names, and for how many of them an account was made."""

    people: int
    accounts: int


def store_people(rows: Rows) -> People:
    """Find or make the account that stands for each person. Nobody becomes a member; roles are only checked."""
    keys: dict[str, int] = {}
    accounts = 0
    for batch in rows.batches(tables.PEOPLE):
        names = [at(tables.PEOPLE, line, name_of, row) for line, row in batch]
        here = accounts_here([name + IMPORTED for name in names])
        for (line, row), name in zip(batch, names, strict=True):
            if name in keys:
                raise ArchiveError("The user name is listed twice.", file=tables.PEOPLE, line=line)
            marked = (name + IMPORTED).lower()
            if marked not in here:
                here[marked] = at(tables.PEOPLE, line, make_account, name)
                accounts += 1
            keys[name] = here[marked].pk
            if row["member"] is not None:
                rows.values(tables.PEOPLE, line, tables.MEMBER_COLUMNS, row["member"])
    rows.keys.know_people(keys)
    return People(len(keys), accounts)


def mark_authors(rows: Rows) -> None:
    """Mark the annotators as imported, and find all authors by their names in the archive."""
    annotators = Author.objects.filter(project=rows.project, kind=Author.Kind.ANNOTATOR)
    annotators.update(name=Concat("name", Value(IMPORTED)))
    rows.keys.know_authors()


def store_project(rows: Rows) -> None:
    found = list(islice(rows.archive.rows(tables.PROJECT), 2))
    if len(found) != 1:
        raise ArchiveError("There must be exactly one row.", file=tables.PROJECT)
    line, row = found[0]
    values = rows.values(tables.PROJECT, line, tables.PROJECT_COLUMNS, row)
    seed = values["seed_from_id"]
    if seed is not None and not Author.objects.filter(pk=seed, kind__in=Author.MODELS).exists():
        raise ArchiveError("“seed_from” must be a run.", file=tables.PROJECT, line=line)
    # `update` prepares times itself.
    times = {"created_at", "archived_at"}
    values |= {name: datetime.fromisoformat(row[name]) if row.get(name) else None for name in times}
    rows.guarded(tables.PROJECT, [line], lambda: Project.objects.filter(pk=rows.project.pk).update(**values))


def merge_labels(rows: Rows) -> None:
    rows.keys.know_labels()
    into: dict[str, str] = {}
    for line, row in rows.archive.rows(tables.LABELS.name):
        if row.get("merged_into") is None:
            continue
        target = at(tables.LABELS.name, line, rows.keys.label, row["merged_into"])
        Label.objects.filter(pk=rows.keys.label(row["code"])).update(merged_into=target)
        into[row["code"]] = row["merged_into"]
    for code in into:
        seen = {code}
        while (code := into.get(code, "")) and code not in seen:
            seen.add(code)
        if code:
            raise ArchiveError("Labels are merged into each other in a circle.", file=tables.LABELS.name)


def check_codes(rows: Rows) -> None:
    """The codes that a mapping writes must not differ only in case, because readers of the files confuse them."""
    written: dict[tuple[str, str], str] = {}
    for line, row in rows.archive.rows(tables.MAPPED.name):
        code = row.get("code", "")
        if written.setdefault((row["mapping"], code.casefold()), code) != code:
            raise ArchiveError(
                "“code” differs only in case from another code of the mapping.", file=tables.MAPPED.name, line=line
            )


def merge_runs(rows: Rows) -> None:
    for line, row in rows.archive.rows(tables.AUTHORS.name):
        runs = row.get("merged_from")
        if runs is None:
            continue
        if not isinstance(runs, list):
            raise ArchiveError("“merged_from” must be null or a list.", file=tables.AUTHORS.name, line=line)
        found = [at(tables.AUTHORS.name, line, rows.keys.author, run) for run in runs]
        own = rows.keys.author([row["kind"], row["name"]])
        Author.objects.filter(pk=own).update(merged_from=found)
