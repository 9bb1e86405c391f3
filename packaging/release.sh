#!/bin/sh
# Makes what a release consists of, in bin/release: for each machine that robots have the
# programs as an archive and as a Debian package, with IMAGES=1 the container images,
# and the checksums of all.
#
#   packaging/release.sh [NFPM]
set -eu
cd "$(dirname "$0")/.."

nfpm=${1:-nfpm}
go=${GO:-go}
out=bin/release
version=${VERSION:-$(git describe --tags --match 'v[0-9]*' --always)}
rm -rf "$out" bin/deb
mkdir -p "$out"
for machine in amd64 arm64 armv7; do
	GOOS=linux GOARCH=$machine
	case $machine in armv7) GOARCH=arm GOARM=7 && export GOARM ;; esac
	export GOOS GOARCH
	GO=$go packaging/deb.sh "$nfpm"
	tar --create --gzip --file="$out/gorosbag-linux-$machine.tar.gz" --owner=0 --group=0 --sort=name \
		--mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" --transform='s,^\./,gorosbag/,' \
		-C bin/deb/stage/usr/bin ./gobag ./gomaster ./goplay ./gorecord
	[ -z "${IMAGES:-}" ] || GO=$go packaging/images.sh "${version#v}" "$out/gorosbag-images-linux-$machine.tar.gz"
done
mv bin/deb/*.deb "$out/"
(cd "$out" && sha256sum -- * >SHA256SUMS)
