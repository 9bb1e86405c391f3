#!/bin/sh
# Makes what a release consists of, in bin/release: for each machine that robots have the
# programs as an archive and as a Debian package, for each that people have gobag alone as an
# archive, their SBOM, with IMAGES=1 the container images, and the checksums of all.
# MACHINES="amd64 darwin-arm64" builds for these only.
#
#   packaging/release.sh [NFPM]
#
# The same commit and the same version of Go give the same bytes, except for the images.
set -eu
cd "$(dirname "$0")/.."

nfpm=${1:-nfpm}
go=${GO:-go}
out=bin/release
version=${VERSION:-$(git describe --tags --match 'v[0-9]*' --always)}
version=${version#v}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
GOFLAGS="${GOFLAGS:-} -buildvcs=true"
export SOURCE_DATE_EPOCH GOFLAGS
umask 022
rm -rf "$out" bin/deb
mkdir -p "$out"

# archive SOURCE NAME FILE...: what is in SOURCE, alike each time, below a directory of the version. Not through a pipe,
# which would hide that tar failed.
archive() {
	source=$1 tar=$2.tar
	shift 2
	tar --create --file="$tar" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
		--transform="s,zsh/vendor-completions,zsh/site-functions,;s,doc/gorosbag/copyright,doc/gorosbag/LICENSE,;s,^,gorosbag-$version/," \
		-C "$source" "$@"
	gzip -9n "$tar"
}

# gobag SYSTEM MACHINE: the tools on bags, with the licenses of what is in them.
gobag() {
	GOOS=$1 GOARCH=$2
	export GOOS GOARCH
	stage=bin/desktop/$1-$2
	program=gobag
	[ "$1" != windows ] || program=gobag.exe
	rm -rf "$stage"
	mkdir -p "$stage"
	CGO_ENABLED=0 $go build -trimpath -ldflags="-s -w" -o "$stage/$program" ./cmd/bag
	env -u GOOS -u GOARCH CGO_ENABLED=0 "$go" build -trimpath -o bin/deb/host/ ./packaging/inventory
	CGO_ENABLED=0 bin/deb/host/inventory -of ./cmd/bag -licenses "$stage/third-party-licenses.txt"
	cp LICENSE "$stage/"
	archive "$stage" "$out/gobag-$1-$2" "$program" LICENSE third-party-licenses.txt
	bin/deb/host/inventory -sbom "$out/gobag-$1-$2.cdx.json" -version "$version" "$stage/$program"
}

for machine in ${MACHINES:-amd64 arm64 armv7 darwin-arm64 darwin-amd64 windows-amd64}; do
	case $machine in
	darwin-* | windows-*)
		gobag "${machine%-*}" "${machine#*-}"
		continue
		;;
	esac
	name=$out/gorosbag-linux-$machine
	GOOS=linux GOARCH=$machine
	case $machine in armv7) GOARCH=arm GOARM=7 && export GOARM ;; esac
	export GOOS GOARCH
	GO=$go packaging/deb.sh "$nfpm"
	case $(bin/deb/host/bag --version) in
	*commit*) ;;
	*)
		echo "release: the programs do not know their commit: build in a clone of the repository, not in a worktree or a copy" >&2
		exit 1
		;;
	esac
	stage=bin/deb/stage/usr
	archive "$stage" "$name" bin share # what the package has, where /usr/local has it, and nothing beside
	bin/deb/host/inventory -sbom "$name.cdx.json" -version "$version" "$stage"/bin/*
	[ -z "${IMAGES:-}" ] || GO=$go packaging/images.sh "$version" "$out/gorosbag-images-linux-$machine.tar.gz"
done
for package in bin/deb/*.deb; do
	[ ! -e "$package" ] || mv "$package" "$out/"
done
(cd "$out" && sha256sum -- * >SHA256SUMS)
