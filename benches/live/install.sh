#!/bin/sh
# Installs what `loopback_comparison.py` compares with and does not build itself, from Debian packages (written for Debian 12: iperf3 3.12,
# srt-tools 1.5.1, rsync 3.2.7). Needs root. quinn, s2n-quic and quic-go are built by `loopback_comparison.py` from their published
# packages, at the versions that `peers/Cargo.lock` and `quic-go/go.sum` name.
set -eu
apt-get update
apt-get install -y --no-install-recommends iperf3 srt-tools rsync python3
dpkg-query -W -f '${Package} ${Version}\n' iperf3 srt-tools rsync
