# gorosbag: everything a developer runs. README names the two that a user needs.

GO           ?= go
LINT_VERSION := v2.15.0
VULN_VERSION := v1.8.0
FUZZTIME     ?= 60s
TOOLS        := $(CURDIR)/bin/tools
LINT         := $(TOOLS)/golangci-lint-$(LINT_VERSION)
VULN         := $(TOOLS)/govulncheck-$(VULN_VERSION)

.PHONY: build demo test race check fmt-check vet lint tidy vuln bench bench-record fuzz clean

build: ## the four programs, static, in bin/
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/gorecord ./cmd/record
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/goplay ./cmd/play
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/gobag ./cmd/bag
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/gomaster ./cmd/master

demo: build ## play the demo bag, record it, compare
	$(GO) run ./test/demo

test: ## all tests; those with real ROS run where it is installed
	$(GO) test -parallel 4 ./...

# Without test/integration: the programs that it runs are built as users have them,
# so the detector would see its own code only, for four minutes.
race:
	$(GO) test -race -short $$($(GO) list ./... | grep -v /test/integration)

check: fmt-check vet lint tidy test race vuln ## what must be green before a commit

fmt-check: $(LINT)
	$(LINT) fmt --diff

vet: ## also that it builds for the robots' other machines
	$(GO) vet ./...
	GOARCH=arm CGO_ENABLED=0 $(GO) build ./...
	GOARCH=arm64 CGO_ENABLED=0 $(GO) build ./...

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

fuzz: ## every fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "fuzz $$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x $$pkg; \
	  done; done

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
