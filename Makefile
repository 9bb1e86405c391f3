# gorosbag: everything a developer runs. README names the two that a user needs.

GO           ?= go
LINT_VERSION := v2.15.0
VULN_VERSION := v1.8.0
NFPM_VERSION := v2.45.0
S3_VERSION   := v1.8.0
FUZZTIME     ?= 60s
IMAGE_TAG    ?= latest
IMAGE_DIR    ?= $(CURDIR)/bin/image
TOOLS        := $(CURDIR)/bin/tools
LINT         := $(TOOLS)/golangci-lint-$(LINT_VERSION)
VULN         := $(TOOLS)/govulncheck-$(VULN_VERSION)
NFPM         := $(TOOLS)/nfpm-$(NFPM_VERSION)
S3           := $(TOOLS)/versitygw-$(S3_VERSION)

.PHONY: build tools demo test race check fmt-check vet lint tidy vuln bench bench-record bench-play fuzz image deb release clean

build: ## the four programs, static, in bin/; TAGS='gs azblob' for the storage of Google and Azure, too
	@mkdir -p bin
	for p in record play bag master; do \
	  CGO_ENABLED=0 $(GO) build -trimpath -tags '$(TAGS)' -o bin/go$$p ./cmd/$$p || exit; done

demo: build ## play the demo bag, record it, compare
	$(GO) run ./test/demo

test: ## all tests; those with real ROS run where it is installed
	$(GO) test -parallel 4 -timeout 30m ./...

# Without test/integration: the programs that it runs are built as users have them,
# so the detector would see its own code only, for four minutes.
race:
	$(GO) test -race -short $$($(GO) list ./... | grep -v /test/integration)

tools: $(LINT) $(VULN) $(NFPM) $(S3) ## what check, deb and the tests of uploads need, in bin/tools

check: fmt-check vet lint tidy test race vuln ## what must be green before a commit

fmt-check: $(LINT)
	$(LINT) fmt --diff

vet: ## also that it builds for the robots' other machines, and with each storage
	$(GO) vet ./...
	GOARCH=arm CGO_ENABLED=0 $(GO) build ./...
	GOARCH=arm64 CGO_ENABLED=0 $(GO) build ./...
	$(GO) vet -tags nocloud ./internal/store ./internal/upload ./cmd/...
	$(GO) vet -tags gs,azblob ./internal/store

lint: $(LINT)
	$(LINT) run ./...

tidy:
	$(GO) mod tidy -diff

# The vulnerability database is fetched over the network. Without one this says so
# and goes on; set VULN_REQUIRED=1 to make that a failure.
vuln: $(VULN)
	@$(VULN) ./... || { code=$$?; \
	  if [ $$code -ne 3 ] && [ -z "$(VULN_REQUIRED)" ]; then echo "vuln: NOT CHECKED: govulncheck could not run (exit $$code)"; else exit $$code; fi; }

bench: build ## Go benchmarks, then recording and gobag beside stock rosbag where it is installed, and bagfmt beside go-rosbag
	$(GO) test -run '^$$' -bench . -benchtime 1s ./bagfmt ./tcpros ./recorder ./player
	$(MAKE) bench-record
	cd test/rivals && $(GO) run -mod=mod .

bench-record: build ## recording beside stock rosbag, row by row; ROW=lz4 runs the rows with that name
	$(GO) run ./test/bench -row '$(ROW)'

bench-play: build ## playing beside stock rosbag, row by row; ROW=clock runs the rows with that name
	$(GO) run ./test/bench -play -row '$(ROW)'

fuzz: ## every fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "fuzz $$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$pkg; \
	  done; done

image: ## the container images gorosbag/{gomaster,gorecord,goplay,gobag,demo}; CLOUD=1 with s3://, gs:// and azblob://; GOARCH=arm64 for others
	GO=$(GO) IMAGE_DIR=$(IMAGE_DIR) CLOUD=$(CLOUD) packaging/images.sh $(IMAGE_TAG)

deb: $(NFPM) ## the Debian package, in bin/deb
	GO=$(GO) packaging/deb.sh $(NFPM)

release: $(NFPM) ## programs and packages for amd64, arm64 and arm v7, in bin/release; IMAGES=1: and images for docker load
	GO=$(GO) IMAGES=$(IMAGES) packaging/release.sh $(NFPM)

clean:
	rm -rf bin demo-out

$(LINT):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS)/tmp $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	mv $(TOOLS)/tmp/golangci-lint $@

$(VULN):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS)/tmp $(GO) install golang.org/x/vuln/cmd/govulncheck@$(VULN_VERSION)
	mv $(TOOLS)/tmp/govulncheck $@

$(NFPM):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS)/tmp $(GO) install github.com/goreleaser/nfpm/v2/cmd/nfpm@$(NFPM_VERSION)
	mv $(TOOLS)/tmp/nfpm $@

$(S3):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS)/tmp $(GO) install github.com/versity/versitygw/cmd/versitygw@$(S3_VERSION)
	mv $(TOOLS)/tmp/versitygw $@
