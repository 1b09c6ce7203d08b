# A static binary on an empty base: no shell, no libc, not root.
FROM rust:1.95-alpine AS build
# The tag of the base image says which Alpine, and Alpine keeps only the newest build of a package.
# hadolint ignore=DL3018
RUN apk add --no-cache musl-dev
WORKDIR /src
COPY Cargo.toml Cargo.lock build.rs ./
COPY api api
COPY daemon daemon
COPY decision decision
COPY playground playground
COPY simulation simulation
COPY embedded-apiserver embedded-apiserver
COPY src src
COPY crds crds
COPY examples examples
COPY charts/fhpa/docs charts/fhpa/docs
# The revision that `fhpa --version` and the metrics tell.
ARG FHPA_REVISION=unknown
# Without the playground: it is for trying and testing.
RUN cargo build --release --locked --no-default-features --bin fhpa

FROM scratch
ARG FHPA_REVISION=unknown
ARG FHPA_VERSION=unknown
LABEL org.opencontainers.image.title="fhpa" \
      org.opencontainers.image.description="Multi-cluster horizontal pod autoscaling for Karmada" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${FHPA_VERSION}" \
      org.opencontainers.image.revision="${FHPA_REVISION}"
COPY --from=build /src/target/release/fhpa /fhpa
COPY LICENSE /LICENSE
COPY THIRD-PARTY-NOTICES.txt /THIRD-PARTY-NOTICES.txt
USER 65532:65532
EXPOSE 9443 8080
ENTRYPOINT ["/fhpa"]
CMD ["run"]
