# deidreview in a container: `docker build --tag deidreview .`, then `docker compose up` (compose.yaml).
# The first stage builds a virtual environment from the lock file and the wheel; the second one has nothing else.
FROM python:3.11-slim-bookworm AS build
WORKDIR /build
RUN python -m venv /opt/deidreview
COPY requirements.lock ./
RUN /opt/deidreview/bin/pip install --no-cache-dir --no-deps --require-hashes -r requirements.lock
COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE CHANGELOG.md ./
COPY annotations annotations
COPY deidreview deidreview
COPY models_runtime models_runtime
COPY templates templates
COPY static static
COPY fixtures fixtures
COPY docs docs
# The lock file has setuptools, so nothing is fetched here.
RUN /opt/deidreview/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.11-slim-bookworm
# pg_dump for backups.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends postgresql-client \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin deidreview \
    && install --directory --owner deidreview --group deidreview --mode 700 /data
COPY --from=build /opt/deidreview /opt/deidreview
ENV PATH=/opt/deidreview/bin:$PATH \
    DEIDREVIEW_DATA=/data \
    HOST=0.0.0.0 \
    MALLOC_ARENA_MAX=2 \
    PYTHONUNBUFFERED=1
USER deidreview
WORKDIR /data
VOLUME /data
EXPOSE 8000
CMD ["gunicorn", "-c", "python:deidreview.gunicorn", "deidreview.wsgi"]
