from django.urls import URLPattern, URLResolver, path

from annotations.api.mount import addresses
from annotations.api.views import docs, tokens

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/docs", docs.docs, name="api_docs"),
    path("api/openapi.json", docs.openapi, name="api_openapi"),
    path("account/tokens/", tokens.tokens, name="api_tokens"),
    path("account/tokens/<int:pk>/revoke", tokens.revoke, name="api_token_revoke"),
    addresses(),
]
