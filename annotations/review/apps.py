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
        from annotations.core import hiding
        from annotations.review.selectors.planted import hidden_in_set, withheld, without_hidden
        from annotations.review.services.planting import draw_leaks

        hiding.register(without_hidden, hidden_in_set, withheld, draw_leaks)

        from annotations.core import navigation

        navigation.register(
            navigation.Entry(
                110,
                _("Review"),
                "review_strings",
                Can.MAKE_GOLD,
                frozenset({"review", "review_next", "review_string", "review_bulk_new", "review_bulk", "acceptance"}),
            ),
        )

        from annotations.review import overview

        overview.register()
