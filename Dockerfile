# The dashboard as an image: docs/team.md says how to run it.

FROM python:3.11-slim-bookworm AS packages
COPY requirements.lock /build/
# As ./run does it: wheels of known hashes, nothing is compiled. The environment has no pip, and
# none of what the packages bring for their own tests, for Jupyter and for compilers.
RUN python -m venv --without-pip /opt/venv \
    && pip --python /opt/venv/bin/python install --no-cache-dir --disable-pip-version-check \
        --report /build/report.json --require-hashes --only-binary :all: \
        --requirement /build/requirements.lock \
    && find /opt/venv -depth -type d ! -path '*.dist-info/*' \( -name tests -o -name nbextension \
        -o -name labextension -o -path '*/share/jupyter' -o -path '*/pyarrow/include' \) \
        -exec rm -r {} +
COPY .ci/licences.py .ci/sbom.py /build/.ci/
COPY judgepanel/__init__.py /build/judgepanel/
RUN /opt/venv/bin/python /build/.ci/sbom.py /build/report.json > /build/sbom.json

FROM python:3.11-slim-bookworm
RUN pip uninstall --yes --root-user-action ignore pip setuptools wheel \
    && groupadd --gid 10001 judgepanel \
    && useradd --uid 10001 --gid judgepanel --home-dir /data --no-create-home \
        --shell /usr/sbin/nologin judgepanel \
    && install --directory --owner judgepanel --group judgepanel --mode 0700 /data
COPY --from=packages /opt/venv /opt/venv

# 0.0.0.0 is this container, as the port can be published from nowhere else: publish it on
# 127.0.0.1 (compose.yaml does), since nobody has to sign in unless team mode is on.
# A browser address keeps Streamlit from asking the internet for one when it starts.
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONPATH=/app \
    PYTHONUNBUFFERED=1 \
    JUDGEPANEL_HOME=/data \
    NUMBA_CACHE_DIR=/data/compiled \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 \
    STREAMLIT_SERVER_PORT=8501 \
    STREAMLIT_BROWSER_SERVER_ADDRESS=localhost

WORKDIR /app
COPY app.py LICENSE ./
COPY .streamlit/config.toml .streamlit/
COPY judgepanel judgepanel/
COPY pages pages/
COPY sample_data sample_data/
COPY --from=packages /build/sbom.json ./
# The root file system may be read-only later, and the checkout may have been made with umask 077.
RUN python -m compileall -q app.py judgepanel pages && chmod -R a+rX .

USER 10001:10001
VOLUME ["/data"]
EXPOSE 8501
# The server ends in order on it: what it was working on is then free for others.
STOPSIGNAL SIGTERM
# Only the server, with the standard library: `judgepanel health` asks the database as well, and
# costs seconds of a core.
HEALTHCHECK --interval=30s --timeout=6s --start-period=60s --retries=3 CMD ["python", "-I", "-c", "import http.client, sys; c = http.client.HTTPConnection('127.0.0.1', 8501, timeout=5); c.request('GET', '/_stcore/health'); sys.exit(c.getresponse().status != 200)"]
CMD ["streamlit", "run", "app.py"]
