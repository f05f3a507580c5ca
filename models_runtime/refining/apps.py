from typing import TYPE_CHECKING

from django.apps import AppConfig
from django.utils.translation import gettext_noop as _

if TYPE_CHECKING:
    from annotations.models import Author


def notes_learned(author: "Author") -> "set[int]":
    """The ids of notes from which a model behind the refined suggestions learned: those of the refinement's source."""
    from annotations.core.hooks import notes_learned_from
    from models_runtime.models import Refinement

    if author.kind != author.Kind.REFINED:  # No query for all others.
        return set()
    row = Refinement.objects.filter(author=author).select_related("source__project").first()
    return set().union(*notes_learned_from(author=row.source)) if row else set()


class RefiningConfig(AppConfig):
    name = "models_runtime.refining"
    label = "models_refining"

    def ready(self) -> None:
        from annotations.core import navigation, offers, proposed_removals
        from annotations.core.access import Can
        from annotations.core.api import registry
        from annotations.core.hooks import notes_learned_from, patient_erased
        from annotations.jobs.registry import JobKind, register
        from models_runtime.refining.selectors.refining import removed
        from models_runtime.refining.services.erasing import forget_reasons

        register(
            {
                "refine": JobKind(
                    title=_("Refinement"),
                    handler="models_runtime.refining.jobs.refining.run",
                    right=Can.MANAGE,
                    result="refining/result.html",
                    can_pause=True,
                ),
            }
        )
        proposed_removals.register(removed)
        notes_learned_from.add(notes_learned)
        patient_erased.add(forget_reasons)
        navigation.register(navigation.Entry("models", 60, _("Refinements"), "refinements", Can.MANAGE))
        offers.offer("runs.actions", "refining/offers/runs.html", position=10)
        offers.offer("injections.actions", "refining/offers/injections.html")
        offers.offer("injection.actions", "refining/offers/injection.html")
        registry.register("models_runtime.refining.api.refining.router")
