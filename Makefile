# c2c. `make help` lists the targets.
SHELL := bash
.SHELLFLAGS := -o pipefail -c
GO ?= go
BIN := bin
BEFORE ?=
export CGO_ENABLED ?= 0
# HTTP/2 is only for TLS, which c2c does not speak.
GOFLAGS_BUILD := -trimpath -tags=nethttpomithttp2 -ldflags='-s -w'
PREFIX ?= $(HOME)/.local
T ?= 60s
BESIDE ?=
KILLS ?= 200
ROUNDS ?= 50
RINGS ?= 50
TASKS ?= 1
CLIENT ?=
PORTABLE ?= Idle(Claude|Codex|OpenCode)IsWoken|WriteToEachOther|EmbeddedCodex|(Client.*|Codex.*)ThroughItsTerminal|ForAClosedThread|BusyOpenCode|FewRings|WithoutItsSocketClaude|TwoOpenCodes|NoTerminalShows
RACE ?= ./broker ./cmd/... ./hooks ./inbox ./internal/... ./mcp/... ./relay/... ./serve/... ./sessions/... ./wake/...
FUZZTIME ?= 9s

.PHONY: help build dist demo test test-portable race e2e conformance certify bench wording torture hosts faults powercut docs fuzz lint check release-check install clean

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

build: ## bin/c2c and bin/c2cd
	$(GO) build $(GOFLAGS_BUILD) -o $(BIN)/ ./cmd/...

dist: ## archives, .deb, .rpm, npm packages and a Homebrew formula for Linux and macOS, with checksums, into dist; DIST_URL=where the formula finds them
	$(GO) run ./e2e/dist dist

test: build ## all tests but those of the real clients
	@GO="$(GO)" bash scripts/test.sh

# The tests of e2e are not all here, because many of them count what only Linux tells.
test-portable: ## on Linux, what c2c does on macOS: the tests, those of three clients that wake and hand over, and processes killed at random for 20s
	$(GO) vet -tags portable ./...
	GOFLAGS=-tags=portable $(GO) test -count=1 -timeout 30m $$($(GO) list ./... | grep -v /e2e)
	GO="$(GO)" GOFLAGS=-tags=portable bash scripts/ignorecase.sh
	$(GO) build -trimpath -tags=nethttpomithttp2,portable -o $(BIN)/portable/ ./cmd/...
	$(GO) run -tags portable ./e2e/torture -t 20s $(BIN)/portable
	TAGS=portable C2C_E2E_NEEDS='@anthropic-ai/claude-code@ @openai opencode' bash scripts/e2e.sh ./e2e -run '$(PORTABLE)'

demo: build ## two sessions exchange a message, step by step
	$(GO) run ./e2e/demo $(BIN)

# The other packages have no goroutines of their own.
race: ## the tests under the race detector (needs a C compiler); RACE="./mcp" for some packages
	CGO_ENABLED=1 $(GO) test -race -count=1 -timeout 20m $(RACE)

e2e: ## the tests on the real clients, and of the HTTP side with programs of others, installed from npm into a cache
	bash scripts/e2e.sh

conformance: ## the whole conformance suite of MCP on the HTTP daemon (make e2e runs it, too)
	C2C_E2E_NEEDS='node-linux- @modelcontextprotocol/conformance@' bash scripts/e2e.sh ./e2e/face -run Conformance

certify: ## the tests on the newest version of each client, or of CLIENTS="..."; writes docs/inside/certified.md
	$(GO) run ./e2e/certify $(CLIENTS)

bench: build ## the hot paths against limits of the same run, into docs/inside/performance.md; fails above an aim; BEFORE=dir compares
	$(GO) build $(GOFLAGS_BUILD) -o $(BIN)/ ./e2e/bench/empty ./e2e/bench/replace ./e2e/bench/noop
	$(GO) run ./e2e/bench $(if $(BEFORE),-before $(BEFORE),-page docs/inside/performance.md) $(BIN)

wording: ## how often a model refuses a peer's mail, RINGS=50 for each wording, and picks the right tool, TASKS=1 for each of 30 tasks; CLIENT="claude -p" is your client with your environment
	$(GO) run ./e2e/wording -rings $(RINGS) -tasks $(TASKS) $(CLIENT)

torture: build ## processes killed at random for T=60s, and the HTTP daemon KILLS=200 times, and 4000 bells, and relays; then every message looked for; BESIDE=dir: with an older version
	$(GO) run ./e2e/torture -t $(T) $(if $(BESIDE),-beside $(BESIDE)) $(BIN)
	$(GO) test -count=1 -v ./cmd/c2cd -run 'TestADaemonThatIsKilledUnderLoad|TestNobodyWaitsForABell' -kills $(KILLS) -bells 4000
	$(GO) test -count=1 -v ./relay -run TestNothingIsLostDoubledOrReordered -messages 20000 -archived 100000

hosts: ## machines that write to each other, through ssh and a nats-server, and lose links, relays and the hub for T=60s, and ROUNDS=50 times their power (needs root)
	C2C_E2E_NEEDS=nats-server bash scripts/e2e.sh ./e2e/hub -run 'Chaos|PowerCuts' -for $(T) -messages 20000 -archived 100000 -cuts $(ROUNDS)

faults: build ## every system call of a command fails once, or is its last (needs strace)
	$(GO) run ./e2e/faults $(BIN)

powercut: build ## ROUNDS=50 power cuts on ext4 and XFS, then every message looked for (needs root)
	$(GO) run ./e2e/powercut -rounds $(ROUNDS) $(BIN)

docs: build ## docs/clients.md from the guides in client, docs/commands from the table in cmd/cli, the packages, the tools, the picture from a run
	$(GO) test ./cmd/c2c -run 'TestTheDesignListsTheLayers|TestTheRingerLinksEveryClient' -update
	$(GO) test ./client -run TestTheClientsPage -update
	$(GO) test ./e2e/dist -run TestTheCommandPages -update
	$(GO) test ./mcp -run 'TestCatalogIs|TestAnswersHave' -update
	$(GO) run ./e2e/picture $(BIN) docs/two-terminals.svg

fuzz: ## every fuzzer for FUZZTIME=9s
	@GO="$(GO)" bash scripts/fuzz.sh $(FUZZTIME)

# govulncheck is not here: it needs the database of vulnerabilities, which comes from the network alone.
lint: ## gofmt, go.mod, vet for Linux and macOS, staticcheck
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	$(GO) mod tidy -diff
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	$(GO) tool -modfile=scripts/tools.mod staticcheck ./...

check: lint test ## lint and test

release-check: ## what pays too little for its minutes in CI: hours; needs root, strace and a C compiler
	$(MAKE) race
	$(MAKE) fuzz
	$(MAKE) test-portable
	$(MAKE) torture T=120s
	$(MAKE) faults
	$(MAKE) powercut
	$(MAKE) hosts T=300s
	$(MAKE) bench

install: build ## put both programs into PREFIX/bin (default ~/.local/bin)
	install -d $(PREFIX)/bin
	install -m 0755 $(BIN)/c2c $(BIN)/c2cd $(PREFIX)/bin/
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "add the folder to your PATH: export PATH=\"$(PREFIX)/bin:\$$PATH\"" ;; esac

clean: ## remove what was built
	rm -rf $(BIN) dist
