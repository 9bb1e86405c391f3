#!/bin/sh
# Builds the container images gorosbag/{gomaster,gorecord,goplay,gobag,demo} for the
# machine that GOARCH (and GOARM) name, and saves them for "docker load" where an
# archive is named:
#
#   packaging/images.sh TAG [ARCHIVE.tar.gz]
#
# No image is pulled, and neither buildx nor BuildKit is needed. CLOUD=1 makes images that can also
# reach the storage of Google and Azure; their tags end in -cloud, and the SDKs make them twice as large.
# IMAGE_DIR is where the programs are put together.
set -eu
cd "$(dirname "$0")/.."

go=${GO:-go}
tag=$1${CLOUD:+-cloud}
archive=${2:-}
dir=${IMAGE_DIR:-bin/image}
overlay=
if [ -n "${CLOUD:-}" ]; then # the SDKs of Google and Azure are in a module of their own
	GOWORK=$PWD/internal/cloud/store/clouds/go.work
	export GOWORK
	overlay='-overlay internal/cloud/store/clouds/overlay.json'
fi

machine=$($go env GOARCH)
platform=linux/$machine
[ "$machine" != arm ] || platform=$platform/v${GOARM:-7}

rm -rf "$dir"
mkdir -p "$dir/bags"
for p in record play bag master; do
	# shellcheck disable=SC2086 # a list
	GOOS=linux CGO_ENABLED=0 $go build -trimpath $overlay -ldflags '-s -w' -o "$dir/go$p" "./cmd/$p"
done
cp testdata/demo.bag "$dir/"
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
created=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}" +%Y-%m-%dT%H:%M:%SZ)
images=
for t in gomaster gorecord goplay gobag demo; do
	# The legacy builder does not distinguish machines in its cache: an image would get the machine of an earlier one.
	docker build -q --no-cache --platform "$platform" -f packaging/Dockerfile --target $t -t gorosbag/$t:"$tag" \
		--label org.opencontainers.image.title="$t" --label org.opencontainers.image.version="$tag" \
		--label org.opencontainers.image.revision="$revision" --label org.opencontainers.image.created="$created" \
		--label org.opencontainers.image.source=https://github.com/gorosbag/gorosbag \
		--label org.opencontainers.image.licenses=Apache-2.0 "$dir"
	built=$(docker image inspect --format '{{.Architecture}}' "gorosbag/$t:$tag")
	if [ "$built" != "$machine" ]; then
		echo "images: the builder made an image for $built, not $machine" >&2
		exit 1
	fi
	images="$images gorosbag/$t:$tag"
done
if [ -n "$archive" ]; then # not through a pipe, which would hide that docker failed
	# shellcheck disable=SC2086 # a list
	docker save -o "${archive%.gz}" $images
	gzip -9nf "${archive%.gz}"
fi
