#!/bin/sh
# Makes what a release consists of, in bin/release: for each machine that robots have the
# programs as an archive and as a Debian package, their SBOM, with IMAGES=1 the container
# images, and the checksums of all. MACHINES="amd64 arm64" builds for these only.
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
pages="ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md LICENSE README.md SECURITY.md docs" # complete: TestArchive follows their links
samples="docker-compose.yml packaging/grafana/*.json packaging/prometheus/*.yml"        # pages name them; the token beside them is a secret
umask 022
rm -rf "$out" bin/deb
mkdir -p "$out"
for machine in ${MACHINES:-amd64 arm64 armv7}; do
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
	# Programs and documents where /usr/local has them, and nothing beside. A robot without a network has
	# the pages, too. Not through a pipe, which would hide that tar failed.
	doc=share/doc/gorosbag
	tar --create --file="$name.tar" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
		--exclude=share/doc --transform="s,zsh/vendor-completions,zsh/site-functions,;s,^\([A-Z]*\.md\|LICENSE\|docs\|third-party\|docker-compose\|packaging\),$doc/&," \
		--transform="s,^,gorosbag-$version/," \
		$pages $samples -C "$stage/$doc" third-party-licenses.txt \
		-C "$PWD/$stage" bin share
	gzip -9n "$name.tar"
	bin/deb/host/inventory -sbom "$name.cdx.json" -version "$version" "$stage"/bin/*
	[ -z "${IMAGES:-}" ] || GO=$go packaging/images.sh "$version" "$out/gorosbag-images-linux-$machine.tar.gz"
done
mv bin/deb/*.deb "$out/"
(cd "$out" && sha256sum -- * >SHA256SUMS)
