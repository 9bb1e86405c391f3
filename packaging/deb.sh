#!/bin/sh
# Makes bin/deb/gorosbag_VERSION_ARCH.deb for the machine that GOARCH (and GOARM) name:
#
#   packaging/deb.sh [NFPM]
#
# NFPM is the program nfpm, see the Makefile; GO is the go command.
set -eu
cd "$(dirname "$0")/.."

nfpm=${1:-nfpm}
go=${GO:-go}
stage=bin/deb/stage
host=bin/deb/host # programs of this machine, which write the man pages and the licenses
pages="ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md README.md SECURITY.md docs" # complete: TestArchive follows their links
samples="docker-compose.yml packaging/grafana/*.json packaging/prometheus/*.yml" # the pages name them; the token beside them is a secret
host_build() { env -u GOARCH -u GOARM -u GOOS CGO_ENABLED=0 "$go" build -trimpath -ldflags="-s -w" -o "$host/" "$@"; }

goarch=$($go env GOARCH)
case $goarch in
arm) GOROSBAG_ARCH=arm${GOARM:-7} && GOARM=${GOARM:-7} && export GOARM ;;
*) GOROSBAG_ARCH=$goarch ;;
esac
# A version of Debian: 1.2.3, or 1.2.3+5.gabc1234 for the fifth commit after it.
described=$(git describe --tags --match 'v[0-9]*' 2>/dev/null || echo "v0.0.0-$(git rev-list --count HEAD)-g$(git rev-parse --short HEAD)")
GOROSBAG_VERSION=${VERSION:-$(echo "${described#v}" | sed 's/-\([0-9]*\)-g/+\1.g/; s/-/~/')}
GOROSBAG_VERSION=${GOROSBAG_VERSION#v}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export GOROSBAG_ARCH GOROSBAG_VERSION SOURCE_DATE_EPOCH

umask 022
rm -rf "$stage"
mkdir -p "$host" "$stage/usr/bin" "$stage/usr/lib/systemd/system" "$stage/usr/share/man/man1" \
	"$stage/usr/share/bash-completion/completions" "$stage/usr/share/zsh/vendor-completions" \
	"$stage/usr/share/fish/vendor_completions.d" "$stage/usr/share/doc/gorosbag"
host_build ./packaging/inventory ./cmd/record ./cmd/play ./cmd/bag ./cmd/master
for p in record play bag master; do
	CGO_ENABLED=0 $go build -trimpath -ldflags="-s -w" -o "$stage/usr/bin/go$p" "./cmd/$p"
	"$host/$p" --man | gzip -9n >"$stage/usr/share/man/man1/go$p.1.gz"
done
for p in gorecord goplay gobag; do
	echo "complete -o default -o bashdefault -C $p $p" >"$stage/usr/share/bash-completion/completions/$p"
	sed "s/PROGRAM/$p/g" packaging/completions/fish >"$stage/usr/share/fish/vendor_completions.d/$p.fish"
done
cp packaging/completions/zsh "$stage/usr/share/zsh/vendor-completions/_gorosbag"
cp packaging/systemd/*.service "$stage/usr/lib/systemd/system/"
doc=$stage/usr/share/doc/gorosbag
cp -r $pages "$doc/" # a robot without a network has them, too
cp --parents $samples "$doc/"
cp LICENSE "$doc/copyright"
CGO_ENABLED=0 "$host/inventory" -licenses "$doc/third-party-licenses.txt"
chmod -R u=rwX,go=rX "$stage"

$nfpm package --config packaging/nfpm.yaml --packager deb --target bin/deb/
