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
                    unit=_("proposals"),
                    can_pause=True,
                ),
                "bulk_undo": JobKind(
                    title=_("Taking a bulk review back"),
                    handler="annotations.review.jobs.take_back",
                    right=Can.MAKE_GOLD,
                    result="review/bulk_undo_result.html",
                    unit=_("proposals"),
                    can_pause=True,
                ),
            }
        )
        from annotations.core import hiding
        from annotations.core.hooks import gold_replaced
        from annotations.review.selectors.planted import hidden_in_set, without_hidden
        from annotations.review.services.planting import give_up_leaks

        hiding.register(without_hidden, hidden_in_set)
        gold_replaced.add(give_up_leaks)

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
