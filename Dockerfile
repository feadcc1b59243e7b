# The webhook's image: docker build -t gpupolicy --build-arg VERSION=0.1.0 --build-arg REVISION="$(git rev-parse HEAD)" .
# Pin the base by digest where your registry mirrors it: --build-arg BASE=python:3.13-slim@sha256:...
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
WORKDIR /src
COPY pyproject.toml setup.cfg README.md LICENSE ./
COPY gpupolicy ./gpupolicy
COPY policies ./policies
COPY templates ./templates
COPY webhook ./webhook
RUN python -m venv --without-pip /opt/gpupolicy
RUN python -m pip --python /opt/gpupolicy/bin/python install --no-cache-dir '.[webhook,cluster]'
# What is in it, as CycloneDX; the tool stays in this stage.
RUN python -m venv --without-pip /opt/sbom
RUN python -m pip --python /opt/sbom/bin/python install --no-cache-dir --no-compile 'cyclonedx-bom>=7,<8'
RUN /opt/sbom/bin/cyclonedx-py environment --output-reproducible --output-file /opt/gpupolicy/sbom.cdx.json /opt/gpupolicy/bin/python

FROM ${BASE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="gpupolicy" \
      org.opencontainers.image.description="Policy as code for GPU clusters on Kubernetes: the admission webhook and its command line" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /opt/gpupolicy /opt/gpupolicy
# Nothing is written at run time, so the root may be read-only; nothing but the installed package is imported.
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PYTHONSAFEPATH=1
USER 65532:65532
EXPOSE 8443 8080
ENTRYPOINT ["/opt/gpupolicy/bin/gpupolicy"]
CMD ["--help"]
