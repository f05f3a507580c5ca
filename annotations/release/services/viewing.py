"""A note as readers of the original may also see it: with placeholders, or with surrogates. Nothing is stored."""

from collections.abc import Sequence

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Document
from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.redaction.policy import Action, LabelRule, Policy
from annotations.release.rules.redaction.released import Released
from annotations.release.rules.redaction.shipped import rules_for
from annotations.release.services.batches import MEANWHILE, again
from annotations.release.services.policies import codes_of, kinds_in
from annotations.release.services.preparing import Preparer
from annotations.release.services.replacing import Original
from annotations.release.services.sources import ReleasedAnnotations
from annotations.text.spans import Span

MASKED, SURROGATES = "masked", "surrogates"
VIEWS = (MASKED, SURROGATES)


def viewed(*, document: Document, spans: Sequence[Span], view: str) -> Released:
    """The note's text with these spans masked, or replaced by surrogates of the project's index.

    Surrogates follow the shipped policy; a label without a kind is masked. New surrogates are not stored, so they may
    change until a release has made them. Raises ServiceError `note` for a note that is being erased.
    """
    project = document.project
    codes = codes_of(project)
    rules = {code: LabelRule(IdentifierType.OTHER, Action.MASK) for code in codes}
    if view == SURROGATES:
        rules |= rules_for("surrogate", kinds_in(project))
    language = document.language or project.language
    note = Original(document.pk, document.name, document.text, language, document.patient_id, spans)
    preparer = Preparer(project, Policy(rules), ReleasedAnnotations("", ()))
    for _try in again():
        try:
            with transaction.atomic():
                (prepared,) = preparer.prepare([note])
                transaction.set_rollback(True)
        except MEANWHILE:
            if not Document.objects.filter(pk=document.pk).exists():
                raise ServiceError(_("This note no longer exists. Reload the page."), code="note") from None
            continue
        return prepared.released
    raise AssertionError("The last try returns or raises.")
