from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class RefiningConfig(AppConfig):
    name = "models_runtime.refining"
    label = "models_refining"

    def ready(self) -> None:
        from annotations.core import navigation, offers
        from annotations.core.access import Can
        from annotations.core.hooks import notes_learned_from, patient_erased, proposed_removals
        from annotations.jobs.registry import JobKind, register
        from annotations.ops.selectors.free_texts import more_texts, more_weights
        from annotations.release.services.surrogates.makers import MAKERS
        from models_runtime.refining.selectors.refining import notes_learned, removed
        from models_runtime.refining.services.erasing import forget_reasons
        from models_runtime.refining.services.free_texts import free_texts, kept_weights
        from models_runtime.refining.services.injecting.systemic import forget_terms
        from models_runtime.refining.services.relexicalizing.answers import forget_answers
        from models_runtime.refining.services.relexicalizing.relexicalizing import LANGUAGE_MODEL

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
        more_texts.add(free_texts)
        more_weights.add(kept_weights)
        proposed_removals.add(removed)
        notes_learned_from.add(notes_learned)
        patient_erased.add(forget_reasons)
        navigation.register(navigation.Entry("models", 60, _("Refinements"), "refinements", Can.MANAGE))
        offers.offer("runs.actions", "refining/offers/runs.html")
        navigation.register(
            navigation.Entry("guidelines", 50, _("For agents"), "skills", Can.MANAGE, frozenset({"skill"})),
        )
        patient_erased.add(forget_terms)
        register(
            {
                "inject": JobKind(
                    title=_("Injection of errors"),
                    handler="models_runtime.refining.jobs.injecting.run",
                    right=Can.MANAGE,
                    result="refining/injecting/result.html",
                ),
            }
        )
        navigation.register(
            navigation.Entry(
                "models",
                70,
                _("Injected errors"),
                "injections",
                Can.MANAGE,
                frozenset({"injection", "injected_errors", "systemic_errors"}),
            ),
        )
        register(
            {
                "judge": JobKind(
                    title=_("Judges"),
                    handler="models_runtime.refining.jobs.judging.run",
                    right=Can.MANAGE,
                    result="refining/judging/result.html",
                    unit=_("answers"),
                    queue="llm",
                    redo="models_runtime.refining.jobs.judging.ready_again",
                    can_pause=True,
                ),
            }
        )
        navigation.register(
            navigation.Entry(
                "gold",
                40,
                _("Judges"),
                "judgings",
                Can.READ_NOTES,
                frozenset({"judge", "judging", "judging_entities"}),
            ),
        )
        offers.offer("scores.actions", "refining/judging/offers/scores.html", position=20)
        offers.offer("score.actions", "refining/judging/offers/score.html")
        MAKERS["llm"] = LANGUAGE_MODEL
        patient_erased.add(forget_answers)
        register(
            {
                "surrogate_scores": JobKind(
                    title=_("Comparison of a model on originals and surrogates"),
                    handler="models_runtime.refining.jobs.relexicalizing.run",
                    right=Can.RELEASE,
                    result="refining/relexicalizing/scores_result.html",
                ),
            }
        )
        offers.offer("release.sections", "refining/relexicalizing/offers/release.html")
        offers.offer("surrogates.sections", "refining/relexicalizing/offers/index.html")
