from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class ReviewConfig(AppConfig):
    name = "annotations.review"
    label = "review"

    def ready(self) -> None:
        from annotations.core.access import Can
        from annotations.jobs.registry import JobKind, register

        register(
            {
                "bulk": JobKind(
                    title=_("Bulk review"),
                    handler="annotations.review.jobs.run",
                    right=Can.MAKE_GOLD,
                    result="review/bulk_result.html",
                    unit=_("suggestions"),
                    can_pause=True,
                ),
                "bulk_undo": JobKind(
                    title=_("Undo of a bulk review"),
                    handler="annotations.review.jobs.undo",
                    right=Can.MAKE_GOLD,
                    result="review/bulk_undo_result.html",
                    unit=_("suggestions"),
                    can_pause=True,
                ),
            }
        )
        from annotations.core.hooks import suggestions_stored
        from annotations.review.services.planting import draw_leaks

        suggestions_stored.add(draw_leaks)

        from annotations.core import navigation
        from annotations.review.selectors.left import CHOSEN_RUNS, notes_left

        navigation.add_group(navigation.NavigationGroup("review", _("Review"), 60, counter=notes_left))
        navigation.register(
            navigation.Entry(
                "review", 10, _("By note"), "reviews", Can.MAKE_GOLD, frozenset({"review", "review_next"})
            ),
            navigation.Entry(
                "review",
                20,
                _("By string"),
                "review_strings",
                Can.MAKE_GOLD,
                frozenset({"review_string"}),
                keeps=CHOSEN_RUNS,
            ),
            navigation.Entry(
                "review",
                30,
                _("In bulk"),
                "review_bulk_new",
                Can.MAKE_GOLD,
                frozenset({"review_bulk"}),
                keeps=CHOSEN_RUNS,
            ),
            navigation.Entry("review", 40, _("Acceptance"), "acceptance", Can.READ_NOTES, keeps=CHOSEN_RUNS),
        )
        navigation.working("review")
