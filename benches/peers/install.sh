#!/bin/sh
# Installs the peers that this folder compares against: ns-2 and ns-3, both
# from Debian packages (written for Debian 12: ns2 2.35, ns3 3.37).
# Needs root. The script does nothing else: no download, no patch.
set -eu
apt-get update
apt-get install -y --no-install-recommends ns2 libns3-dev g++ python3
# Say what was installed, so that a table can be quoted with its versions.
dpkg-query -W -f '${Package} ${Version}\n' ns2 libns3-dev
