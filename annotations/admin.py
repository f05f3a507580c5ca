"""The administration pages: accounts, and the setup of projects (read-only).

Objects whose changes write audit events elsewhere are read-only here. Notes, spans, annotation sets and events are not
registered, so no administration page shows the text of a note.
"""

from typing import Any

from axes.admin import AccessFailureLogAdmin, AccessLogAdmin
from axes.models import AccessFailureLog, AccessLog
from django.apps import apps
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from annotations.models import Category, Deletion, Label, LabelSet, Membership, Project, User

# Pages of other packages that are unused, show secrets (second factors), or are replaced below (sign-in logs).
UNUSED = [
    "axes.AccessLog",
    "axes.AccessFailureLog",
    "auth.Group",
    "account.EmailAddress",
    "account.EmailConfirmation",
    "mfa.Authenticator",
    "socialaccount.SocialAccount",
    "socialaccount.SocialApp",
    "socialaccount.SocialToken",
    "django_rq.Dashboard",
    "django_rq.Queue",
]


def _hide_unused() -> None:
    for name in UNUSED:
        try:
            model = apps.get_model(name)
        except LookupError:
            continue
        if admin.site.is_registered(model):
            admin.site.unregister(model)


_hide_unused()


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Read-only here. The project's own pages change these objects and write the audit events."""

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(AccessLog)
class SignIns(ReadOnly, AccessLogAdmin):  # type: ignore[misc]  # django-axes has no types
    pass


@admin.register(AccessFailureLog)
class FailedSignIns(ReadOnly, AccessFailureLogAdmin):  # type: ignore[misc]  # django-axes has no types
    pass


@admin.register(User)
class People(UserAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Accounts. An account is deactivated, never deleted, because annotations and events refer to it."""

    list_display = ["username", "first_name", "last_name", "is_active", "is_staff", "last_login"]
    list_filter = ["is_active", "is_staff"]
    filter_horizontal = ()
    fieldsets = [
        (None, {"fields": ["username", "password"]}),
        (_("Person"), {"fields": ["first_name", "last_name", "email"]}),
        (_("Account"), {"fields": ["is_active", "is_staff", "is_superuser", "last_login", "date_joined"]}),
    ]
    readonly_fields = ["last_login", "date_joined"]
    actions = ["remove_second_factor"]

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    @admin.action(description=_("Turn off two-factor sign-in (deletes app and codes)"), permissions=["change"])
    def remove_second_factor(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        authenticators = apps.get_model("mfa", "Authenticator").objects
        for person in queryset:
            authenticators.filter(user=person).delete()
            self.log_change(request, person, "Turned off two-factor sign-in.")
        self.message_user(request, _("Two-factor sign-in is off for the selected people."), messages.SUCCESS)


@admin.register(Project)
class Projects(ReadOnly):
    list_display = ["name", "slug", "language", "created_at", "created_by"]
    search_fields = ["name", "slug"]
    fields = ["name", "slug", "language", "distribution", "annotators_per_note", "created_at", "created_by"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Project]:
        """Leave out projects whose last rows are being deleted."""
        return super().get_queryset(request).exclude(pk__in=Deletion.objects.values("pk"))


@admin.register(Membership)
class Memberships(ReadOnly):
    list_display = ["user", "project", "role", "active", "joined_at", "removed_at"]
    list_filter = ["role", "active"]
    list_select_related = ["user", "project"]
    search_fields = ["user__username", "project__slug"]


class _Rows(admin.TabularInline):  # type: ignore[type-arg]  # not generic at run time
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class CategoryRows(_Rows):
    model = Category
    verbose_name_plural = _("categories")
    fields = ["name", "code", "hue", "position"]


class LabelRows(_Rows):
    model = Label
    fields = ["name", "code", "category", "hotkey", "placeholder", "merged_into"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Label]:
        return super().get_queryset(request).select_related("category", "merged_into")


@admin.register(LabelSet)
class LabelSets(ReadOnly):
    list_display = ["name", "key", "project"]
    list_select_related = ["project"]
    inlines = [CategoryRows, LabelRows]

    def get_queryset(self, request: HttpRequest) -> QuerySet[LabelSet]:
        return super().get_queryset(request).exclude(project__in=Deletion.objects.values("pk"))
