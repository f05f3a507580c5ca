from importlib import import_module

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.urls import URLPattern, URLResolver, path
from django.views.i18n import JavaScriptCatalog

from deidreview import views

admin.autodiscover()
admin.site.site_header = "deidreview administration"
admin.site.site_title = "deidreview"
# The admin's own pages would skip the second factor, also for a person signed in to another account, and would allow
# guesses at a password without counting them.
admin.site.login = secure_admin_login(views.admin_home)  # type: ignore[method-assign]  # as allauth documents it
admin.site.password_change = views.admin_password_change  # type: ignore[method-assign, assignment]  # as above

# Patterns are tried in order, so the ones requested at every key press come first.
FEATURES = (
    *(f"annotations.{app}" for app in ("annotate", "notes", "review", "jobs", "scores", "agreement", "gold")),
    *(f"annotations.{app}" for app in ("exchange", "pairs", "audio", "release", "records", "ops", "projects")),
    *(f"models_runtime.{app}" for app in ("runs", "training", "refining", "feeds", "speech")),
)
urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("metrics", views.metrics, name="metrics"),
    # Translations of the scripts' texts. Naming an application leaves out Django's own texts.
    path("words.js", login_not_required(JavaScriptCatalog.as_view(packages=["annotations"])), name="script_words"),
    path("admin/", admin.site.urls),
    *(one for feature in FEATURES for one in import_module(f"{feature}.urls").urlpatterns),
]

handler400 = views.bad_request
handler403 = views.forbidden
handler404 = views.not_found
handler500 = views.failed
