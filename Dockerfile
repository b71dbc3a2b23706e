# The trusted side: the image of `docker compose run --rm grade`. Sandboxes are made from images/sandbox instead.
ARG BASE=debian:bookworm-slim
FROM ${BASE} AS base
RUN --mount=type=bind,source=images/install.sh,target=/tmp/install.sh \
    --mount=type=secret,id=ca --mount=type=secret,id=apt_conf --mount=type=secret,id=apt_sources \
    sh /tmp/install.sh python3 git ca-certificates

# The same sandbox as images/sandbox makes, packed: where the engine has none, entry.py gives it this one.
FROM base AS sandbox
RUN useradd --uid 1000 --user-group --create-home --home-dir /home/agent --shell /bin/bash agent
WORKDIR /workspace
FROM base AS packed
RUN --mount=type=bind,from=sandbox,target=/sandbox \
    tar --create --gzip --numeric-owner --sort=name --directory /sandbox --file /sandbox.tar.gz .

FROM base AS build
RUN --mount=type=bind,source=images/install.sh,target=/tmp/install.sh \
    --mount=type=secret,id=ca --mount=type=secret,id=apt_conf --mount=type=secret,id=apt_sources \
    sh /tmp/install.sh python3-venv
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python3 -m venv /opt/takeover
COPY requirements.lock /src/
RUN --mount=type=secret,id=ca --mount=type=secret,id=pip_conf \
    PIP_CONFIG_FILE=/run/secrets/pip_conf /opt/takeover/bin/pip install --quiet --require-hashes --requirement /src/requirements.lock
COPY . /src
RUN /opt/takeover/bin/pip install --quiet --no-deps --no-build-isolation --no-index /src

FROM base
COPY --from=packed /sandbox.tar.gz /opt/sandbox.tar.gz
COPY --from=build /opt/takeover /opt/takeover
COPY images/entry.py /opt/entry.py
ENV PATH=/opt/takeover/bin:$PATH PYTHONDONTWRITEBYTECODE=1 LANG=C.UTF-8
WORKDIR /srv/takeover
ENTRYPOINT ["/opt/takeover/bin/python", "-I", "/opt/entry.py"]
CMD ["demo"]
