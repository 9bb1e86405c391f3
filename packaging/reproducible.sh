#!/bin/sh
# Checks that the same commit makes the same release: builds HEAD in two clones, in directories
# of different names, with another umask, time zone and times of files, and compares the bytes.
#
#   packaging/reproducible.sh [NFPM]
set -eu
cd "$(dirname "$0")/.."

nfpm=${1:-nfpm}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
git clone --quiet --no-hardlinks . "$dir/first"
git clone --quiet --no-hardlinks . "$dir/the-second"
find "$dir/the-second" -name .git -prune -o -type f -exec touch -d 2020-01-01 {} +
(cd "$dir/first" && packaging/release.sh "$nfpm")
(cd "$dir/the-second" && umask 077 && TZ=Asia/Tokyo packaging/release.sh "$nfpm")
cat "$dir/first/bin/release/SHA256SUMS"
diff -r "$dir/first/bin/release" "$dir/the-second/bin/release"
