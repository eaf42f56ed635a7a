#!/bin/sh
# Fetches htsim at a fixed commit into a folder, builds its library with its own Makefile, and the driver htsim.cc with it.
#
#   ./install-htsim.sh FOLDER [SOURCE]       SOURCE: a clone to take it from, in place of GitHub
#
# Leaves FOLDER/htsim, which simulator_comparison.py and fat_tree_comparison.py take with --htsim. Needs git, make and g++.
set -eu
commit=841d9e7be46bb968eece766aa4b6c044c7799f67
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?usage: install-htsim.sh FOLDER [SOURCE]}
source=${2:-https://github.com/Broadcom/csg-htsim}
mkdir -p "$folder"
if [ ! -d "$folder/source" ]; then
    git clone -q --no-checkout "$source" "$folder/source"
fi
# Its experiments are not needed.
git -C "$folder/source" checkout -q "$commit" -- sim LICENSE
make -s -j 4 -C "$folder/source/sim" libhtsim.a >"$folder/build.log" 2>&1 || {
    echo "htsim does not build: see $folder/build.log" >&2
    exit 1
}
g++ -O3 -std=c++17 -I"$folder/source/sim" "$here/htsim.cc" "$folder/source/sim/libhtsim.a" -o "$folder/htsim"
echo "$folder/htsim, of $(git -C "$folder/source" log -1 --format="%h %cs" "$commit")"
