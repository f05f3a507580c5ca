"""The documents from which imported notes were extracted: kept as stored files, with a source map for each note."""

from annotations.core.stored_files import store_file
from annotations.exchange.services.import_plan import ImportContext, Plan
from annotations.models import DocumentSource, StoredFile


def store_originals(context: ImportContext, plan: Plan, ids: dict[str, int]) -> None:
    """Store the sources of new notes, and each of their documents once. `ids` are the ids of the notes by name."""
    sources = [(ids[note.name], note.source) for note in plan.new if note.source is not None]
    if not sources:
        return
    files = {source.file for _pk, source in sources}
    earlier = DocumentSource.objects.filter(
        document__imported_by=context.row, name__in=files, original__isnull=False
    ).values_list("name", "original")
    originals = dict(earlier)
    for file in sorted(files - originals.keys()):
        with context.source.open(file) as content:
            stored = store_file(
                project=context.project,
                kind=StoredFile.Kind.ORIGINAL,
                name=file.rpartition("/")[2],
                content=content,
                actor=context.actor,
            )
        originals[file] = stored.pk
    DocumentSource.objects.bulk_create(
        DocumentSource(
            document_id=pk,
            original_id=originals[source.file],
            name=source.file,
            kind=source.kind,
            encoding=source.encoding,
            cleaned=source.cleaned,
            places=source.places,
            ocr_confidence=source.ocr,
        )
        for pk, source in sources
    )


def delete_unused_originals(project_id: int) -> None:
    """Delete the documents of which no note is left."""
    StoredFile.objects.filter(project=project_id, kind=StoredFile.Kind.ORIGINAL, sources=None).delete()
