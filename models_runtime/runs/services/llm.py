"""Runs of a language model: servers and parameters, the consent to send notes, costs, and notes that it rewrote."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet, Sum
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from annotations.core.bulk import SpanRow, in_batches, insert_spans
from annotations.core.services import ServiceError, hold, keep_labels, record_reads
from annotations.core.suggestions import add_strings, renew_notes, tally_of
from annotations.exchange.rules import likely_labels
from annotations.jobs.services.queue import LIVE
from annotations.models import AnnotationSet, Document, Project, Release, RewrittenNote, Span, User
from annotations.projects.selectors.labels import accepted_labels, labels_of
from annotations.review.selectors.suggestions import DOUBTFUL
from annotations.text.hashes import string_key
from annotations.text.spans import crowd_in
from models_runtime.backends.llm import prompts
from models_runtime.backends.llm.servers import Params, Server, read_params
from models_runtime.core.registry import LLM
from models_runtime.models import Judge, LlmUsage, Run, RunItem, RunItemState
from models_runtime.runs.events import PLACEHOLDERS_MAPPED, REWRITTEN_EXPORTED
from models_runtime.runs.services.backends import ChosenBackend, check_consent
from models_runtime.runs.services.external import Choice
from models_runtime.runs.services.runs import started

# Spans of rewritten notes whose placeholder is no label's: kept without a label until a person chooses one.


BATCH = 200


def unmapped_placeholders(run: Run) -> dict[str, int]:
    """Count the spans of a run without a label, by placeholder, the most frequent first."""
    counts: Counter[str] = Counter()
    for rows in _with_unmapped(run).values_list("unmapped", flat=True).iterator(chunk_size=BATCH):
        counts.update(row[2] for row in rows)
    return dict(counts.most_common())


def mapping_for(project: Project) -> dict[str, str]:
    """Return the labels that people chose for placeholders in this project's latest run that rewrote notes."""
    last = Run.objects.filter(project=project, backend=LLM, params__strategy="rewrite").order_by("-pk").first()
    return {} if last is None else (last.params.get("mapping") or {}) | (last.params.get("mapped") or {})


def placeholder_choices(run: Run, placeholders: Mapping[str, int]) -> list[Choice]:
    """Return the choice for each placeholder: the label that its words probably mean, or undecided."""
    accepted, _ids = accepted_labels(run.project)
    return [Choice(word, next(iter(likely_labels(word, accepted)), None)) for word in placeholders]


def map_placeholders(*, run: Run, labels: Mapping[str, str], actor: User | None) -> int:
    """Make suggestions of the spans with these placeholders. `labels` maps placeholders to label codes, or to "".

    An empty code drops the spans. The choice is kept for the project's next runs. Return the number of suggestions.
    Raises ServiceError `live` while the run is in progress, and `label` for an unknown label.
    """
    with transaction.atomic():
        keep_labels(run.project_id)
        hold(run.project_id)
        held = Run.objects.select_for_update(of=("self",)).select_related("job", "author").get(pk=run.pk)
        if held.job is not None and held.job.state in LIVE:
            raise ServiceError(_("This run is still in progress. Wait until it ends, or cancel it."), code="live")
        _accepted, ids = accepted_labels(run.project)
        for code in filter(None, labels.values()):
            if code not in ids:
                message = _("This project has no label “%(code)s”. Choose from the list.")
                raise ServiceError(message % {"code": code}, code="label")
        notes = in_batches(_with_unmapped(held).defer("text"), BATCH)
        count = sum(_map_batch(held, batch, labels, ids) for batch in notes)
        held.params["mapped"] = (held.params.get("mapped") or {}) | dict(labels)
        held.save(update_fields=["params"])
        PLACEHOLDERS_MAPPED.record(
            actor=actor,
            project_id=run.project_id,
            data={"author": run.author_id, "placeholders": len(labels), "suggestions": count},
        )
    return count


def _with_unmapped(run: Run) -> Any:
    return RewrittenNote.objects.filter(author=run.author_id).exclude(unmapped=[]).order_by("pk")


def _map_batch(run: Run, notes: list[RewrittenNote], labels: Mapping[str, str], ids: Mapping[str, int]) -> int:
    """Add the suggestions of some notes. Spans that the set already has, and that would crowd the note, are dropped."""
    pks = [note.document_id for note in notes]
    sets = dict(AnnotationSet.objects.filter(author=run.author_id, document__in=pks).values_list("document_id", "pk"))
    texts = dict(Document.objects.filter(pk__in=pks).values_list("pk", "text"))
    present: dict[int, set[tuple[int, int, int]]] = {pk: set() for pk in sets.values()}
    rows = Span.objects.filter(annotation_set__in=list(present)).order_by()
    for pk, first, past, of in rows.values_list("annotation_set_id", "start", "end", "label_id"):
        present[pk].add((first, past, of))
    made: list[SpanRow] = []
    for note in notes:
        chosen = [row for row in note.unmapped if row[2] in labels]
        note.unmapped = [row for row in note.unmapped if row[2] not in labels]
        own = sets.get(note.document_id)
        for start, end, placeholder, source, doubt in chosen:
            label = ids.get(labels[placeholder])
            if own is None or label is None or (start, end, label) in present[own]:
                continue
            if crowd_in([*((first, past) for first, past, _label in present[own]), (start, end)]) is not None:
                continue
            present[own].add((start, end, label))
            string = string_key(texts[note.document_id][start:end])
            made.append(_row(own, start, end, label, source, doubt, string))
    _store(run, made, {sets[note]: note for note in pks if note in sets})
    RewrittenNote.objects.bulk_update(notes, ["unmapped"])
    return len(made)


def _row(pk: int, start: int, end: int, label: int, source: str, doubt: Any, string: int | None) -> SpanRow:
    provenance = json.dumps(doubt) if doubt else None
    return SpanRow(pk, start, end, label, None, source[:80], provenance, None, string)


def _store(run: Run, made: list[SpanRow], note_of: Mapping[int, int]) -> None:
    """Insert suggestions into existing sets, and renew what is stored about the sets' notes and strings."""
    changed = sorted({row.annotation_set_id for row in made})
    if not changed:
        return
    sets = AnnotationSet.objects.filter(pk__in=changed)
    before = set(Span.objects.filter(annotation_set__in=changed).values_list("pk", flat=True))
    insert_spans(made)
    sets.update(version=F("version") + 1)
    add_strings(tally_of(Span.objects.filter(annotation_set__in=changed).exclude(pk__in=before)))
    renew_notes(run.author_id, {pk: note_of[pk] for pk in changed})


# The notes of a run as the language model rewrote them, as JSON Lines (Miranda et al. 2025, section 4.1).


LINES_AT_ONCE = 100


def rewritten_facts(run: Run) -> dict[str, int] | None:
    """Count the rewritten notes, suggestions with doubtful words, and spans without a label; None for other runs."""
    if run.params.get("strategy") != "rewrite":
        return None
    doubtful = Span.objects.filter(DOUBTFUL, annotation_set__author=run.author_id)
    notes = RewrittenNote.objects.filter(author=run.author_id).count()
    return {"notes": notes, "doubtful": doubtful.count(), "unmapped": sum(unmapped_placeholders(run).values())}


def rewritten_lines(run: Run, *, prompt: bool) -> Iterator[str]:
    """Yield a JSON object and a line break for each rewritten note, in the order of the notes.

    Keys: `note` (the note's name), `original`, `deidentified` (the model's text), `usable` (whether its placeholders
    became suggestions), and with `prompt` also the prompt.
    """
    about: dict[str, Any] = {"prompt": run.params["prompt"]} if prompt else {}
    rows = RewrittenNote.objects.filter(author=run.author_id)
    failed = RunItem.objects.filter(run=run, state=RunItemState.FAILED)
    columns = ("document_id", "document__name", "document__text", "text")
    for batch in in_batches(rows.values_list(*columns), LINES_AT_ONCE, by="document_id"):
        unusable = set(failed.filter(document__in=[pk for pk, *_ in batch]).values_list("document_id", flat=True))
        for pk, name, original, text in batch:
            row = {"note": name, "original": original, "deidentified": text, "usable": pk not in unusable} | about
            yield json.dumps(row, ensure_ascii=False) + "\n"


def export_rewritten(*, run: Run, prompt: bool, actor: User | None) -> tuple[Iterator[str], str]:
    """Return the lines of the download, and the name of the file. Record the download."""
    notes = RewrittenNote.objects.filter(author=run.author_id).values_list("document_id", flat=True)
    record_reads(actor=actor, project_id=run.project_id, notes=notes, what="rewritten notes")
    REWRITTEN_EXPORTED.record(actor=actor, project_id=run.project_id, data={"author": run.author_id, "prompt": prompt})
    return rewritten_lines(run, prompt=prompt), f"{run.project.slug}-rewritten-{run.pk}.jsonl"


def rewriting_for(project: Project, pk: int) -> Run:
    """Return a run that rewrote notes. Raises Http404 for other runs."""
    rows = Run.objects.select_related("author", "project", "job")
    return get_object_or_404(rows, project=project, pk=pk, params__strategy="rewrite")


# The consent to send notes to another machine: one rule for all kinds of servers.


def servers() -> list[Server]:
    """List the servers in DEIDREVIEW_LLM_SERVERS."""
    return list(settings.LLM_SERVERS.values())


def leaving() -> list[Server]:
    """List the servers to which notes would leave this machine."""
    return [server for server in servers() if server.leaves_machine]


def checked_params(given: Mapping[str, object], *, may_leave: bool) -> Params:
    """Check the parameters of a run. Raises ServiceError `params` with the choices, and `leaves` without consent."""
    try:
        params = read_params(given, settings.LLM_SERVERS)
    except ValueError as error:
        raise ServiceError(str(error), code="params") from error
    check_consent([settings.LLM_SERVERS[params.server]], may_leave=may_leave)
    return params


def prompt_labels(project: Project) -> list[prompts.LabelWord]:
    """Return the project's labels for the prompt. Raises ServiceError `labels` if there are none."""
    labels = [prompts.LabelWord(row.code, row.name, row.description, row.placeholder) for row in labels_of(project)]
    if not labels:
        raise ServiceError(_("This project has no labels. Add labels first."), code="labels")
    return labels


def start_llm_run(
    *, project: Project, given: Mapping[str, object], may_leave: bool, actor: User | None, key: str, name: str = ""
) -> Run:
    """Start a run over all notes. Prompt and labels are stored now and don't change later. Raises ServiceError."""
    # The rules behind the examples take long to load, and few requests need them.
    from models_runtime.backends.llm.evidence import shots_of

    params = checked_params({"language": default_language(project)} | dict(given), may_leave=may_leave)
    labels = prompt_labels(project)
    stored = params.as_dict() | {
        "prompt": prompts.prompt_of_run(
            params.strategy,
            params.language,
            labels,
            params.template,
            descriptions=params.descriptions,
            shots=shots_of(params.language, labels, project.label_set.key) if params.examples else [],
        ),
        "prompt_version": prompts.version_of(params.template),
        "mapping": mapping_for(project),
        "labels": [[label.code, label.name, label.description, label.placeholder] for label in labels],
    }
    return started(
        project=project, choice=ChosenBackend(LLM, None, LLM), actor=actor, name=name, params=stored, key=key
    )


def prompt_of(task: str, language: str, labels: Sequence[prompts.LabelWord], preset: str) -> dict[str, str]:
    """Return the prompt of judges or refiners, its version and language, as fields of their rows.

    A preset decides on the language. Raises ServiceError `preset` for one that isn't for the task.
    """
    if preset and preset not in prompts.presets_of([task]):
        message = _("There is no printed prompt “%(name)s” for these rules or this method. Choose one of: %(choices)s.")
        about = {"name": preset[:80], "choices": ", ".join(prompts.presets_of([task])) or _("none")}
        raise ServiceError(message % about, code="preset")
    template = prompts.printed(preset) if preset else ""
    language = prompts.PRESETS[preset].language if preset else language
    prompt = prompts.system_prompt(task, language, labels, template)
    return {"prompt": prompt, "prompt_version": prompts.version_of(template), "language": language}


def default_language(project: Project) -> str:
    """Return the language of the prompt: the project's if there is a prompt in it."""
    return project.language if project.language in prompts.LANGUAGES else ""


def prompts_of(project: Project, tasks: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return each task's prompt in each language, with a title and the project's labels. `tasks` maps keys to titles.

    The prompt for one label has the first label, as an example. The printed prompts for these tasks follow.
    """
    labels = prompt_labels(project)
    built_in = [
        (f"{title}, {language}", prompts.system_prompt(task, code, labels[:1] if task == prompts.BY_LABEL else labels))
        for task, title in tasks.items()
        for code, language in prompts.LANGUAGES.items()
    ]
    return built_in + [(source, prompts.printed(name)) for name, source in prompts.presets_of(tasks).items()]


@dataclass(frozen=True)
class Usage:
    """Sums of counts and costs. `wrong` counts the parts of answers that were ignored.

    `cost` is None if some of the usage has no price.
    """

    counts: dict[str, int]
    wrong: int
    cost: Decimal | None
    currency: str

    def as_dict(self) -> dict[str, Any]:
        """Return the usage as commands print it."""
        cost = None if self.cost is None else str(self.cost)
        return self.counts | {"cost": cost, "currency": self.currency or None}


def usage_of(run: Run) -> Usage | None:
    """Return the usage of a language model's run so far, or None for other runs."""
    if run.backend != LLM:
        return None
    used = _summed(LlmUsage.objects.filter(run=run), run.params.get("server", ""))
    return replace(used, wrong=used.wrong - used.counts["ambiguous"]) if suggests_all_places(run) else used


def suggests_all_places(run: Run) -> bool:
    """Return whether mentions without a clear place are suggested at all their places. Older runs left them out."""
    return "overlap" in run.params


def usage_of_judge(judge: Judge) -> Usage:
    """Return the usage of a judge so far."""
    return _summed(LlmUsage.objects.filter(judge=judge), judge.server)


def usage_of_release(release: Release) -> Usage | None:
    """Return the usage of the language model that makes a release's surrogates, or None if rules make them."""
    server = release.surrogate_maker.get("server", "")
    return _summed(LlmUsage.objects.filter(release=release), server) if server else None


def usage_of_project(project: Project) -> Usage | None:
    """Return the usage for the index of surrogates without a release, or None if no model was asked."""
    rows = LlmUsage.objects.filter(project=project)
    return _summed(rows, "") if rows.exists() else None


def _summed(rows: QuerySet[LlmUsage], server: str) -> Usage:
    sums = rows.aggregate(cost=Sum("cost"), **{f"sum_{name}": Sum(name) for name in LlmUsage.COUNTS})
    currencies = set(rows.values_list("currency", flat=True)) or {_currency(server)}
    known = len(currencies) == 1 and "" not in currencies
    counts = {name: sums[f"sum_{name}"] or 0 for name in LlmUsage.COUNTS}
    return Usage(
        counts=counts,
        wrong=sum(counts[name] for name in LlmUsage.WRONG),
        cost=sums["cost"] or Decimal(0) if known else None,
        currency=currencies.pop() if known else "",
    )


def _currency(server: str) -> str:
    """Return the currency of the server's prices, or an empty string if it has none."""
    found = settings.LLM_SERVERS.get(server)
    return found.price.currency if found and found.price else ""


def server_of(run: Run) -> Server | None:
    """Return the run's server, or None if it is no longer listed."""
    found: Server | None = settings.LLM_SERVERS.get(run.params.get("server", ""))
    return found if run.backend == LLM else None
