from functools import partial

from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class ReviewConfig(AppConfig):
    name = "annotations.review"

    def ready(self) -> None:
        from annotations.core.access import Can
        from annotations.jobs.registry import JobKind, register

        kind = partial(JobKind, right=Can.MAKE_GOLD, unit=_("suggestions"), can_pause=True)
        bulk, undo = "annotations.review.services.bulk.run_job", "annotations.review.services.bulk.undo_job"
        register(
            {
                "bulk": kind(title=_("Bulk review"), handler=bulk, result="review/bulk_result.html"),
                "bulk_undo": kind(
                    title=_("Undo of a bulk review"), handler=undo, result="review/bulk_undo_result.html"
                ),
            }
        )
        from annotations.core.hooks import suggestions_stored

        suggestions_stored.add("annotations.review.services.planting.draw_leaks")

        from annotations.core import addresses, navigation

        addresses.register("project.reviews", "reviews")
        left = "annotations.review.selectors.reviewing.notes_left"
        navigation.add_group(navigation.NavigationGroup("review", _("Review"), 60, counter=left))
        entry = partial(navigation.Entry, "review", keeps=("run",))
        notes = frozenset({"review", "review_next"})
        navigation.register(
            navigation.Entry("review", 10, _("By note"), "reviews", Can.MAKE_GOLD, notes),
            entry(20, _("By string"), "review_strings", Can.MAKE_GOLD, frozenset({"review_string"})),
            entry(30, _("In bulk"), "review_bulk_new", Can.MAKE_GOLD, frozenset({"review_bulk"})),
            entry(40, _("Acceptance"), "acceptance", Can.READ_NOTES),
        )
        navigation.fill_window("review")
