from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class RunsConfig(AppConfig):
    name = "models_runtime.runs"

    def ready(self) -> None:
        from annotations.core import addresses, hooks, navigation, offers
        from annotations.core.access import Can
        from annotations.jobs.registry import JobKind, register

        running = JobKind(
            _("Model run"),
            "models_runtime.runs.jobs.run",
            Can.MANAGE,
            result="runs/result.html",
            can_pause=True,
            shared=True,
        )
        comparing = "annotations.scores.services.side_by_side.run_side_by_side"
        result = "runs/comparing/result.html"
        register({"run": running, "compare": JobKind(_("Comparison"), comparing, Can.READ_NOTES, result=result)})
        external = "models_runtime.runs.services.external"
        hooks.gate_searches.add(f"{external}.RulesSearch")
        hooks.rule_candidates.add(f"{external}.candidates_by_rules")
        hooks.notes_without_answer.add(f"{external}.failed_notes")
        hooks.notes_learned_from.add(f"{external}.notes_learned")
        hooks.models_of.add(f"{external}.used_models")
        hooks.thresholds_of.add(f"{external}.threshold_of")
        starts = "start combine flair llm pipeline placeholders remote tagger zero_shot"
        runs = frozenset({"run", "calibration", *(f"run_{name}" for name in starts.split())})
        compared = frozenset({"compare_spans", "strategies"})
        navigation.register(
            navigation.Entry("models", 10, _("Loop"), "loop", Can.READ_NOTES, frozenset({"loop_freeze"})),
            navigation.Entry("models", 20, _("Runs"), "runs", Can.READ_NOTES, runs),
            navigation.Entry("models", 40, _("Backends"), "backends", Can.READ_NOTES),
            navigation.Entry("models", 50, _("Compare"), "runs_compare", Can.READ_NOTES, compared),
        )
        addresses.register("models.runs", "runs")
        addresses.register("models.run", "run")
        offers.offer("review.note_crumbs", "runs/offers/review_note_crumb.html")
        offers.offer("review.empty", "runs/offers/review_empty.html")
        offers.offer("review.done", "runs/offers/review_done.html")
        offers.offer("calibration.crumbs", "runs/offers/calibration_crumb.html")
        offers.offer("models.actions", "runs/offers/models.html")
        offers.offer("model.actions", "runs/offers/model.html")
        offers.offer("scores.actions", "runs/comparing/offers/scores.html", position=10)
        offers.offer("gold.actions", "runs/loop/offers/gold.html", position=10)
        navigation.SHORTCUTS.append(navigation.Shortcut(_("Start a run"), "runs", Can.MANAGE, "start-title"))
