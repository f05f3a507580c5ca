"""All configuration. The environment is read and checked here and nowhere else.

A malformed value stops the start with one clear line (ImproperlyConfigured names the variable and what it takes).
"""

import os
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from redis.connection import parse_url

from models_runtime.backends.llm.servers import read_servers

BASE_DIR = Path(__file__).resolve().parent.parent
VERSION = "0.1.0"

env = environ.Env()


def _read(kind: str, name: str, default: Any, takes: str) -> Any:
    """One environment value, or a clear word on what the variable takes."""
    try:
        return getattr(env, kind)(name, default=default)
    except (ValueError, TypeError, environ.ImproperlyConfigured) as error:
        raise ImproperlyConfigured(f"{name}: {env.str(name, default='')!r} is not {takes}") from error


def _yes_no(name: str) -> bool:
    """Strict: a typing error must not quietly switch HTTPS off."""
    value = str(env.str(name, default="")).strip().lower()
    if value in ("true", "yes", "on", "1"):
        return True
    if value in ("false", "no", "off", "0", ""):
        return False
    raise ImproperlyConfigured(f"{name}: {value!r} is not true or false")


def _one_of(name: str, default: str, choices: list[str]) -> str:
    value = str(env.str(name, default=default)) or default
    if value not in choices:
        raise ImproperlyConfigured(f"{name}: {value!r} is not one of {', '.join(choices)}")
    return value


def _time_zone() -> str:
    value = str(env.str("TZ", default="UTC")) or "UTC"
    try:
        return ZoneInfo(value).key
    except (KeyError, ValueError, OSError) as error:
        raise ImproperlyConfigured(f"TZ: {value!r} is not a time zone name such as Europe/Rome") from error


def _positive(name: str, default: int) -> int:
    value: int = _read("int", name, default, "a whole number")
    if value < 1:
        raise ImproperlyConfigured(f"{name}: {value} is not a number above 0")
    return value


def _count(name: str) -> int:
    value: int = _read("int", name, 0, "a whole number")
    if value < 0:
        raise ImproperlyConfigured(f"{name}: {value} is below 0; it takes a count, 0 or more")
    return value


# ── Where data lives ─────────────────────────────────────────────────────────────────────────────────────────────────
DATA_DIR = Path(_read("str", "DEIDREVIEW_DATA", str(BASE_DIR / "var"), "a folder")).expanduser().absolute()
DEMO = _yes_no("DEIDREVIEW_DEMO")
DEBUG = _yes_no("DEIDREVIEW_DEBUG")


def _secret_key() -> str:
    """From the environment, else the file that the run command wrote in the data folder; never a built-in one."""
    key = str(env.str("DEIDREVIEW_SECRET_KEY", default=""))
    file = DATA_DIR / "secret_key"
    if not key and file.is_file():
        key = file.read_text().strip()
    if len(key) < 40:
        raise ImproperlyConfigured(
            "DEIDREVIEW_SECRET_KEY: set a random value of at least 40 characters "
            f"(none in the environment, none in {file}; `make run` writes one there)"
        )
    return key


SECRET_KEY = _secret_key()
ALLOWED_HOSTS: list[str] = _read(
    "list", "DEIDREVIEW_HOSTS", ["127.0.0.1", "localhost", "[::1]"], "a list of host names"
)
CSRF_TRUSTED_ORIGINS: list[str] = _read("list", "DEIDREVIEW_ORIGINS", [], "a list of origins such as https://host")
if not all(origin.startswith(("https://", "http://")) for origin in CSRF_TRUSTED_ORIGINS):
    raise ImproperlyConfigured("DEIDREVIEW_ORIGINS: every origin begins with https:// or http://")
HTTPS = _yes_no("DEIDREVIEW_HTTPS")
# How many proxies of our own each request passes. So many addresses at the end of X-Forwarded-For are believed.
PROXIES = _count("DEIDREVIEW_PROXIES")

# ── Database ─────────────────────────────────────────────────────────────────────────────────────────────────────────
DEFAULT_DATABASE_URL = f"sqlite:///{quote(str(DATA_DIR / 'deidreview.sqlite3'))}"


def _database() -> dict[str, Any]:
    url = str(env.str("DATABASE_URL", default=DEFAULT_DATABASE_URL))
    if not url.startswith(("postgres://", "postgresql://", "sqlite:///")):
        raise ImproperlyConfigured("DATABASE_URL: only postgres:// and sqlite:/// are supported")
    try:
        config: dict[str, Any] = dict(env.db_url_config(url))
    except Exception as error:
        raise ImproperlyConfigured("DATABASE_URL: not a database URL (postgres://… or sqlite:///…)") from error
    engine = config.get("ENGINE", "")
    if engine.endswith("sqlite3"):
        config["ENGINE"] = "deidreview.sqlite3"
        config["OPTIONS"] = {
            # IMMEDIATE: a transaction that will write takes its turn at once instead of failing half way.
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            # FULL: an acknowledged span is on disk.
            "init_command": (
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; "
                # Pages that many changes share go from the log to the file once for all of them.
                "PRAGMA wal_autocheckpoint=4000; PRAGMA cache_size=-8000; PRAGMA mmap_size=134217728; "
                # What is deleted is gone from the file too; one large import must not leave a log of gigabytes behind.
                "PRAGMA secure_delete=ON; PRAGMA journal_size_limit=67108864;"
            ),
        }
    elif engine.endswith("postgresql"):
        config["CONN_HEALTH_CHECKS"] = True
    else:
        raise ImproperlyConfigured("DATABASE_URL: only postgres:// and sqlite:/// are supported")
    config["CONN_MAX_AGE"] = None
    return config


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# ── Queue ────────────────────────────────────────────────────────────────────────────────────────────────────────────
REDIS_URL: str = _read("str", "REDIS_URL", f"unix://{quote(str(DATA_DIR / 'redis' / 'redis.sock'))}", "a Redis URL")


def _check_redis(url: str) -> None:
    """Whoever writes to Redis decides which jobs workers look at, and when: over a network it asks who that is."""
    if not url.startswith(("redis://", "rediss://", "unix://")):
        raise ImproperlyConfigured("REDIS_URL: begins with redis://, rediss:// or unix://")
    try:
        parts: Any = parse_url(url)  # type: ignore[no-untyped-call]
    except ValueError as error:
        raise ImproperlyConfigured("REDIS_URL: not a Redis URL, such as redis://:password@host:6379/0") from error
    if url.startswith("redis://") and not parts.get("password") and not _is_loopback(parts.get("host", "localhost")):
        raise ImproperlyConfigured(
            "REDIS_URL: a Redis on another machine needs a password (redis://:password@host:6379/0) or TLS (rediss://)"
        )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


_check_redis(REDIS_URL)
# JSON, not pickle. Workers read no RQ job at all (annotations.jobs.services.worker), so this is a second barrier.
_QUEUE = {"URL": REDIS_URL, "DEFAULT_TIMEOUT": -1, "SERIALIZER": "rq.serializers.JSONSerializer"}
RQ_QUEUES = {"cpu": _QUEUE, "gpu": _QUEUE, "llm": _QUEUE}
JOB_LEASE_SECONDS = _positive("DEIDREVIEW_LEASE_SECONDS", 30)
RELAY_INTERVAL_SECONDS = 1.0
# A further worker joins a run that would go on for longer than this without it: it has a model to load first.
JOB_JOIN_SECONDS = 10.0

# ── Language models: the servers that notes may be sent to ───────────────────────────────────────────────────────────
try:
    LLM_SERVERS = read_servers(os.environ)
except ValueError as error:
    raise ImproperlyConfigured(str(error)) from error

# ── Limits ───────────────────────────────────────────────────────────────────────────────────────────────────────────
UPLOAD_MAX_BYTES = _positive("DEIDREVIEW_UPLOAD_MB", 200) * 1024 * 1024
NOTE_MAX_BYTES = _positive("DEIDREVIEW_NOTE_MB", 5) * 1024 * 1024
# What one person may ask of the web server (deidreview.limits); far above what somebody does by hand.
REQUESTS_PER_WINDOW, ANONYMOUS_PER_WINDOW, REQUEST_WINDOW_SECONDS = 3000, 600, 10
WEB_THREADS = _positive("DEIDREVIEW_WEB_THREADS", 4)
STORED_FILE_HOURS = _positive("DEIDREVIEW_FILE_HOURS", 24)
DATA_UPLOAD_MAX_MEMORY_SIZE = 10 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FILES = 5000
FILE_UPLOAD_TEMP_DIR = None
FILE_UPLOAD_PERMISSIONS = 0o600

# ── Applications ─────────────────────────────────────────────────────────────────────────────────────────────────────
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.forms",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "axes",
    "csp",
    "django_htmx",
    "django_rq",
    "annotations",
    "annotations.core",
    "annotations.jobs",
    "annotations.projects",
    "annotations.accounts",
    "annotations.notes",
    "annotations.gold",
    "annotations.transfer",
    "annotations.annotate",
    "annotations.agreement",
    "annotations.adjudicate",
    "annotations.review",
    "annotations.scores",
    "annotations.ops",
    "models_runtime",
    "models_runtime.core",
    "models_runtime.calibration",
    "models_runtime.training",
    "models_runtime.runs",
    "models_runtime.judging",
    "models_runtime.comparing",
    "models_runtime.loop",
    "models_runtime.ops",
    "deidreview",
]
AUTH_USER_MODEL = "annotations.User"

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "deidreview.middleware.ContentSecurityPolicy",
    "deidreview.middleware.response_headers",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "deidreview.boundary.Boundary",
    "django.contrib.sessions.middleware.SessionMiddleware",
    # Before anything that reads a body, after what knows who sends it.
    "deidreview.uploads.upload_limit",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "deidreview.limits.RequestLimits",
    "deidreview.middleware.SignInRequired",
    "deidreview.boundary.JsonBody",
    "django.contrib.messages.middleware.MessageMiddleware",
    "deidreview.middleware.idle_logoff",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "deidreview.urls"
WSGI_APPLICATION = "deidreview.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "deidreview.catalogue.script_words_address",
            ],
        },
    },
]
FORM_RENDERER = "deidreview.forms.Renderer"

# ── People ───────────────────────────────────────────────────────────────────────────────────────────────────────────
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "deidreview.accounts.Backend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "projects"
LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_ADAPTER = "deidreview.accounts.ClosedSignup"
ACCOUNT_FORMS = {
    "login": "deidreview.accounts.SignIn",
    "reauthenticate": "deidreview.accounts.PasswordAgain",
    "change_password": "deidreview.accounts.ChangePassword",
    "reset_password_from_key": "deidreview.accounts.ChoosePassword",
}
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = "deidreview.tokens.LinkTokens"  # noqa: S105 - a class
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_SESSION_REMEMBER = False
# django-axes does the lock-out; allauth's own login limit would answer first and hide it.
ACCOUNT_RATE_LIMITS = {"login_failed": None, "login": None}
# No mail server is assumed, and none is ever tried.
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_TOTP_ISSUER = "deidreview"
# A code may be typed as its half minute ends: one step more is what RFC 6238 (5.2) allows for.
MFA_TOTP_TOLERANCE = 1
MFA_FORMS = {
    "authenticate": "deidreview.accounts.Code",
    "reauthenticate": "deidreview.accounts.CodeAgain",
    "activate_totp": "deidreview.accounts.FirstCode",
}
AXES_HANDLER = "deidreview.lockout.Handler"
AXES_FAILURE_LIMIT = _positive("DEIDREVIEW_LOGIN_ATTEMPTS", 5)
AXES_COOLOFF_TIME = _positive("DEIDREVIEW_LOCKOUT_MINUTES", 15) / 60
# Trying again while locked out does not make it longer, so that the page can say how long it lasts.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_PARAMETERS = "deidreview.lockout.lockout_parameters"
AXES_LOCKOUT_CALLABLE = "deidreview.lockout.locked_out"
AXES_USERNAME_CALLABLE = "deidreview.lockout.counted_name"
AXES_CLIENT_IP_CALLABLE = "deidreview.lockout.client_ip"
AXES_RESET_ON_SUCCESS = True
# Sign-ins, and failed ones, can be looked up afterwards (45 CFR 164.308(a)(5)(ii)(C): log-in monitoring).
AXES_ENABLE_ACCESS_FAILURE_LOG = True
AXES_VERBOSE = False
PASSWORD_RESET_TIMEOUT = 24 * 3600

IDLE_MINUTES = _positive("DEIDREVIEW_IDLE_MINUTES", 30)
SESSION_ENGINE = "deidreview.sessions"
# On the server, not in a cookie, which would stay in the browser's folder; and messages name no notes.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
# Names of our own: cookies ignore the port, so another tool on the same host would overwrite the usual ones.
# The __Host- prefix makes the browser insist on HTTPS and on this very host.
SESSION_COOKIE_NAME = "__Host-deidreview" if HTTPS else "deidreview"
CSRF_COOKIE_NAME = "__Host-deidreview-csrf" if HTTPS else "deidreview-csrf"
KNOWN_BROWSER_COOKIE_NAME = "__Host-deidreview-browser" if HTTPS else "deidreview-browser"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "deidreview.views.csrf_failure"

# ── Headers ──────────────────────────────────────────────────────────────────────────────────────────────────────────
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
        "object-src": [NONE],
    },
}
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None

# ── Language, time, static files ─────────────────────────────────────────────────────────────────────────────────────
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English")]
TIME_ZONE = _time_zone()
# A further language, Italian say: `manage.py makemessages -l it` (and `-d djangojs` for the scripts) writes its strings
# here, `manage.py compilemessages` compiles them, and ("it", "Italiano") joins LANGUAGES. See docs/operations.md.
LOCALE_PATHS = [BASE_DIR / "deidreview" / "locale"]
# With one language there is nothing to translate: looking it up all the same would be a tenth of every page's cost.
USE_I18N = len(LANGUAGES) > 1
if USE_I18N:
    # The language that the person's browser asks for; it must know the session, and come before what makes addresses.
    MIDDLEWARE.insert(
        MIDDLEWARE.index("django.middleware.common.CommonMiddleware"), "django.middleware.locale.LocaleMiddleware"
    )
USE_TZ = True
STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "deidreview.storage.StaticFiles"},
}
FIXTURES_DIR = BASE_DIR / "fixtures"

# ── Logs: what happened, never what a note says ──────────────────────────────────────────────────────────────────────
LOG_LEVEL = _one_of("DEIDREVIEW_LOG_LEVEL", "WARNING", ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"])
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"no_note_text": {"()": "deidreview.logs.NoNoteText"}},
    "formatters": {"line": {"()": "deidreview.logs.LineFormatter"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["no_note_text"]}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "django": {"handlers": [], "propagate": True},
        "deidreview": {"level": "INFO"},
        "axes": {"level": "ERROR"},
        # At DEBUG these write whole requests.
        **{name: {"level": "WARNING"} for name in ("openai", "httpx", "httpx2", "httpcore", "httpcore2")},
    },
}
# W021: preloading HSTS binds a whole domain for years; its owner decides that, not a program.
SILENCED_SYSTEM_CHECKS = ["security.W021"]
