# gorosbag: everything a developer runs. README names the two that a user needs.

GO           ?= go
FUZZTIME     ?= 60s
IMAGE_TAG    ?= latest
IMAGE_DIR    ?= $(CURDIR)/bin/image
TOOLS        := $(CURDIR)/bin/tools
LINT         := $(TOOLS)/golangci-lint
VULN         := $(TOOLS)/govulncheck
NFPM         := $(TOOLS)/nfpm
S3           := $(TOOLS)/versitygw
TYPECHECK    := $(TOOLS)/typecheck

# One way to compile programs, tests, tools and what linters look at: on a new machine another
# one costs minutes.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -trimpath

# CLOUD=1 builds programs with the storage of Google and Azure: their SDKs are in a module of their own (ADR 0063).
CLOUDS := internal/cloud/store/clouds
WITH_CLOUDS := GOWORK=$(CURDIR)/$(CLOUDS)/go.work
OVERLAY := -overlay $(CLOUDS)/overlay.json

# The linters look for what vet would find. Without symbols and DWARF the tests link in half the time.
GOTEST := $(GO) test -vet=off -ldflags='-s -w'

.PHONY: build tools test-tools test-clouds duckdb demo test test-full race check fmt-check cross lint tidy vuln bench bench-record bench-play bench-growth bench-convert soak fuzz mutate image deb release reproducible pictures clean

build: ## the four programs, static, in bin/; CLOUD=1 for the storage of Google and Azure, too
	@mkdir -p bin
	for p in record play bag master; do \
	  $(if $(CLOUD),$(WITH_CLOUDS)) $(GO) build $(if $(CLOUD),$(OVERLAY)) -ldflags '-s -w' -o bin/go$$p ./cmd/$$p || exit; done

# On a new machine the demo is what a user waits for: it builds only what it runs, without SQLite, which takes a third of
# that time, and says every 8 s that it goes on.
demo: ## play the demo bag, record it, compare
	@mkdir -p bin/demo; (n=0; while sleep 1; do n=$$((n + 1)); [ $$((n % 8)) -ne 0 ] || \
	  echo "demo: compiling for $$n s; the first time this takes some minutes"; done) & ticker=$$!; trap 'kill $$ticker' EXIT; \
	for p in record play bag; do \
	  $(GO) build -tags nosqlite -ldflags '-s -w' -o bin/demo/go$$p ./cmd/$$p || exit; done
	$(GO) run ./test/demo

# Most tests below test/integration wait for programs rather than for the processor, so
# more of them run at a time than there are processors, and more packages: fewer in CI, where
# the linters and the race detector run beside them. The go command starts the packages in the
# order of its arguments: first those that wait for minutes in make test-full or take longest in
# make test, so that none of them runs alone at the end. With another time limit it would not take
# the cached results of make test for make test-full.
PROCESSORS := $(shell getconf _NPROCESSORS_ONLN)
AT_A_TIME := -timeout 30m -parallel 8 -p $(if $(GOROSBAG_REQUIRE_ROS),3,$(shell echo $$(($(PROCESSORS) < 4 ? 4 : $(PROCESSORS)))))
ALL := $(addprefix ./test/integration/,install service faults play record stock docs bag live harness) ./tcpros ./recorder ./bagfmt ./cmd/bag \
  ./tcpros/master ./internal/face/web ./internal/cloud/store ./test/arch ./test/mutate ./...
test: ## all tests but the long ones; those with real ROS run where it is installed
	$(GOTEST) $(AT_A_TIME) $(ALL)

test-full: ## the long tests: each fault, each comparison with stock. What is the same in make test is left out
	GOROSBAG_FULL=long $(GOTEST) $(AT_A_TIME) $(ALL)

# The packages that lock or start goroutines: others cannot race by themselves. Without
# test/integration: the programs that it runs are built as users have them, so the detector
# would see its own code only, for four minutes. Tests that the detector makes too slow, and
# tests whose measures the detector changes, skip themselves (internal/testkit).
# SQLite's code, translated from C, computes pointers in a way that checkptr forbids.
race:
	CGO_ENABLED=1 $(GOTEST) -race -gcflags=modernc.org/...=-d=checkptr=0 -short -timeout 30m \
	  $$(git ls-files '*.go' | grep -v '_test.go$$\|^test/integration/' | \
	  xargs grep -lE '^[[:space:]]+go (func|[a-zA-Z.]+)\(|"sync(/atomic)?"' | xargs -n 1 dirname | sort -u | sed 's|^|./|')

tools: test-tools $(LINT) $(VULN) ## what check, deb and the tests need, in bin/tools

test-tools: $(NFPM) $(S3) ## what make deb and the tests of uploads need

test-clouds: ## the drivers of Google and Azure, against a server that speaks their APIs; compiling the SDKs takes minutes
	$(WITH_CLOUDS) $(GOTEST) $(OVERLAY) ./$(CLOUDS)

duckdb: $(TOOLS)/duckdb ## what TestDuckDB runs the query of docs/storage.md with; needs a C++ compiler

check: fmt-check cross lint tidy test race vuln ## what must be green before a commit

fmt-check: $(LINT)
	$(LINT) fmt --diff

cross: $(TYPECHECK) ## whether the sources fit the robots' other machines, those where people look at bags, and each storage
	GOARCH=arm $(TYPECHECK) ./... # the other word size
	$(WITH_CLOUDS) GOFLAGS='$(GOFLAGS) -overlay=$(CLOUDS)/overlay.json' $(TYPECHECK) -tests ./$(CLOUDS) ./internal/cloud/store
	for system in darwin/arm64 windows/amd64; do \
	  export GOOS=$${system%/*} GOARCH=$${system#*/}; \
	  $(TYPECHECK) $$($(GO) list -deps -f '{{with .Module}}{{if .Main}}{{$$.ImportPath}}{{end}}{{end}}' ./cmd/bag) || exit; done
	cd test/rivals && GOFLAGS='$(GOFLAGS) -mod=mod' $(TYPECHECK) . # only make bench runs it

lint: $(LINT)
	$(LINT) run ./...

tidy:
	$(GO) mod tidy -diff
	cd $(CLOUDS) && GOWORK=off $(GO) mod tidy -diff

# The vulnerability database is fetched over the network. Without one this says so
# and goes on; set VULN_REQUIRED=1 to make that a failure.
vuln: $(VULN)
	@$(VULN) ./... || { code=$$?; \
	  if [ $$code -ne 3 ] && [ -z "$(VULN_REQUIRED)" ]; then echo "vuln: NOT CHECKED: govulncheck could not run (exit $$code)"; else exit $$code; fi; }

bench: build ## Go benchmarks, then recording and gobag beside stock rosbag where it is installed, conversions beside a copy, and bagfmt beside go-rosbag
	$(GO) test -run '^$$' -bench . -benchtime 1s ./bagfmt ./bagfmt/internal/codec ./bagfmt/internal/bzip2 ./tcpros ./recorder ./player
	$(MAKE) bench-record
	$(MAKE) bench-convert
	cd test/rivals && $(GO) run -mod=mod .

bench-record: build ## recording beside stock rosbag, row by row; ROW=lz4 runs the rows with that name
	$(GO) run ./test/bench -row '$(ROW)'

bench-play: build ## playing beside stock rosbag, row by row; ROW=clock runs the rows with that name
	$(GO) run ./test/bench -play -row '$(ROW)'

bench-growth: build ## time and memory with 10 to 4,000 topics, 10^4 to 10^6 chunks and so on; ROW=viewers runs the rows with that name
	$(GO) run ./test/bench -growth -row '$(ROW)'

bench-convert: build ## conversions to ROS 2 beside a plain copy, and reading MCAP beside bags; ROW=zstd runs the rows with that name
	$(GO) run ./test/bench/convert -row '$(ROW)'

soak: ## months of service in half an hour: splits, restarts, pauses, snapshots, viewers, refused uploads; nothing lost, nothing grows
	GOROSBAG_SOAK=30m $(GO) test -count=1 -v -timeout 60m -run TestSoak ./test/integration/service

fuzz: ## every fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "fuzz $$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$pkg; \
	  done; done

mutate: ## how many wrong operators the tests notice, by area; AREA=player for one, SAMPLE=60 for so many of each file, ONLY=ring.go:12 for a place, TESTS=Recover for some tests
	$(GO) run ./test/mutate -area '$(AREA)' -sample '$(or $(SAMPLE),0)' -only '$(ONLY)' -tests '$(TESTS)'

pictures: ## those of README and docs, in docs/img, from the programs while they play and record the demo bag
	GOROSBAG_FULL=1 GOROSBAG_REQUIRE_CHROMIUM=1 $(GOTEST) -count=1 -run 'TestPictures|TestViewPicture' ./test/integration/docs -update

image: ## the container images gorosbag/{gomaster,gorecord,goplay,gobag,demo}; CLOUD=1 with gs:// and azblob://; GOARCH=arm64 for others
	GO=$(GO) IMAGE_DIR=$(IMAGE_DIR) CLOUD=$(CLOUD) packaging/images.sh $(IMAGE_TAG)

deb: $(NFPM) ## the Debian package, in bin/deb
	GO=$(GO) packaging/deb.sh $(NFPM)

release: $(NFPM) ## what users download, in bin/release: archives, packages, SBOM and checksums; MACHINES=amd64 for one machine, IMAGES=1: and images for docker load
	GO=$(GO) IMAGES=$(IMAGES) packaging/release.sh $(NFPM)

reproducible: $(NFPM) ## whether two builds of the last commit make the same release; MACHINES=amd64 for one machine
	GO=$(GO) packaging/reproducible.sh $(NFPM)

clean:
	rm -rf bin demo-out

# Each tool has a module of its own: its go.mod pins the version and its go.sum the contents,
# so that a new machine asks the checksum database nothing (ten minutes for golangci-lint). What
# it shares with the programs and other tools has the same version there, so is compiled once.
$(TOOLS)/duckdb: test/tools/duckdb/go.mod test/tools/duckdb/main.go
	@mkdir -p $(TOOLS)
	cd test/tools/duckdb && CGO_ENABLED=1 $(GO) build -o $@ .

$(TYPECHECK): test/tools/typecheck/go.mod test/tools/typecheck/main.go
	@mkdir -p $(TOOLS)
	cd test/tools/typecheck && $(GO) build -o $@ .

$(TOOLS)/%: test/tools/%/go.mod
	@mkdir -p $(TOOLS)
	cd test/tools/$* && $(GO) build -o $@ tool
