from django.urls import URLPattern, path

from annotations.gold import views

urlpatterns: list[URLPattern] = [
    path("projects/<slug:slug>/notes/<int:pk>/gold", views.note_gold, name="note_gold"),
    path("projects/<slug:slug>/notes/<int:pk>/gold/withdraw", views.note_gold_withdraw, name="note_gold_withdraw"),
    path("projects/<slug:slug>/gold/", views.gold, name="gold"),
    path("projects/<slug:slug>/gold/freeze", views.gold_freeze, name="gold_freeze"),
    path("projects/<slug:slug>/gold/<int:version>/", views.gold_version, name="gold_version"),
    path("projects/<slug:slug>/gold/<int:version>/changes/", views.gold_changes, name="gold_changes"),
    path("projects/<slug:slug>/gold/<int:version>/split", views.gold_split, name="gold_split"),
    path("projects/<slug:slug>/gold/statistics/", views.gold_statistics, name="gold_statistics"),
    path("projects/<slug:slug>/gold/statistics/start", views.statistics_start, name="statistics_start"),
    path("projects/<slug:slug>/gold/start", views.job_start_gold, name="job_start_gold"),
]
