from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class RefiningConfig(AppConfig):
    name = "models_runtime.refining"

    def ready(self) -> None:
        from annotations.core import hooks, navigation, offers
        from annotations.core.access import Can
        from annotations.jobs.registry import JobKind, register

        jobs = "models_runtime.refining.jobs"
        refining = JobKind(
            _("Refinement"), f"{jobs}.refining.run", Can.MANAGE, result="refining/result.html", can_pause=True
        )
        errors = f"{jobs}.injecting.run"
        injecting = JobKind(_("Injection of errors"), errors, Can.MANAGE, result="refining/injecting/result.html")
        judging = JobKind(
            _("Judges"),
            f"{jobs}.judging.run",
            Can.MANAGE,
            unit=_("answers"),
            queue="llm",
            redo=f"{jobs}.judging.ready_again",
            can_pause=True,
            result="refining/judging/result.html",
        )
        scoring = JobKind(
            _("Comparison of a model on originals and surrogates"),
            f"{jobs}.model_scores.run",
            Can.RELEASE,
            result="refining/relexicalizing/scores_result.html",
        )
        register({"refine": refining, "inject": injecting, "judge": judging, "surrogate_scores": scoring})
        feature = "models_runtime.refining"
        hooks.proposed_removals.add(f"{feature}.selectors.removed")
        hooks.notes_learned_from.add(f"{feature}.selectors.notes_learned")
        hooks.patient_erased.add(f"{feature}.jobs.keeping.forget_reasons", f"{feature}.services.injecting.forget_terms")
        hooks.patient_erased.add(f"{feature}.services.relexicalizing.forget_answers")
        hooks.more_texts.add(f"{feature}.selectors.free_texts")
        hooks.more_weights.add(f"{feature}.selectors.kept_weights")
        hooks.surrogate_makers.add(f"{feature}.services.relexicalizing.language_model")
        injections = frozenset({"injection", "injected_errors", "systemic_errors"})
        judgings = frozenset({"judge", "judging", "judging_entities"})
        navigation.register(
            navigation.Entry("models", 60, _("Refinements"), "refinements", Can.MANAGE),
            navigation.Entry("models", 70, _("Injected errors"), "injections", Can.MANAGE, injections),
            navigation.Entry("guidelines", 50, _("For agents"), "skills", Can.MANAGE, frozenset({"skill"})),
            navigation.Entry("gold", 40, _("Judges"), "judgings", Can.READ_NOTES, judgings),
        )
        offers.offer("runs.actions", "refining/offers/runs.html")
        offers.offer("scores.actions", "refining/judging/offers/scores.html", position=20)
        offers.offer("score.actions", "refining/judging/offers/score.html")
        offers.offer("release.sections", "refining/relexicalizing/offers/release.html")
        offers.offer("surrogates.sections", "refining/relexicalizing/offers/index.html")
