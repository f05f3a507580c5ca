from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class RelexicalizingConfig(AppConfig):
    name = "models_runtime.refining"
    label = "models_relexicalizing"

    def ready(self) -> None:
        from annotations.core.api import registry
        from annotations.release.services.surrogates.makers import MAKERS
        from models_runtime.refining.services.relexicalizing.relexicalizing import LANGUAGE_MODEL

        MAKERS["llm"] = LANGUAGE_MODEL

        from annotations.core import offers
        from annotations.core.access import Can
        from annotations.core.hooks import patient_erased
        from annotations.jobs.registry import JobKind, register
        from models_runtime.refining.services.relexicalizing.answers import forget_answers

        patient_erased.add(forget_answers)
        register(
            {
                "surrogate_scores": JobKind(
                    title=_("Comparison of a model on originals and surrogates"),
                    handler="models_runtime.refining.jobs.relexicalizing.run",
                    right=Can.RELEASE,
                    result="relexicalizing/scores_result.html",
                ),
            }
        )
        offers.offer("release.sections", "relexicalizing/offers/release.html", position=5)
        offers.offer("surrogates.sections", "relexicalizing/offers/index.html")
        registry.register("models_runtime.refining.api.relexicalizing.router")
