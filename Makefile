GO ?= go
ADDR ?= 127.0.0.1:8080

.PHONY: help run quick lint test slow chaos bench ports generate schema history

## help: list the commands
help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST) | sed 's/^\([a-z]*\): /make \1|/' | awk -F'|' '{ printf "%-15s %s\n", $$1, $$2 }'

## run: check the generated code, then serve the demo at ADDR (127.0.0.1:8080)
# The demo is built first, because "go run" fails when it is interrupted.
run:
	@$(GO) run ./gen -check || $(GO) generate ./...
	@trap : INT; dir=$$(mktemp -d) && $(GO) build -buildvcs=false -o "$$dir/demo" ./examples/demo && "$$dir/demo" -addr "$(ADDR)"; \
		status=$$?; rm -rf "$$dir"; exit $$status

## quick: vet, check the generated code and run the short tests, in less than a minute
quick:
	@./.ci/check quick

## lint: check format, modules, vet, staticcheck and words
lint:
	@./.ci/check lint

## test: run lint, all tests, the official conformance suite, interoperation and budgets
test:
	@./.ci/check test

## slow: run the race detector, the fuzz targets, a long differential run, and vet for other systems
slow:
	@./.ci/check slow

## chaos: kill, stop and cut replicas for a long time, with each engine: make chaos [LENGTH=10m] [SEED=1 to 9]
chaos:
	cd scale/chaos && GOWORK=off $(GO) test -count=1 -timeout 0 -v -run '^TestChaos$$' -length "$(or $(LENGTH),10m)" -seed "$(or $(SEED),1)"

## bench: measure other SDKs too, and update the table and the chart of docs/performance.md
# BENCH='-run HTTP -rounds 2' measures less and only prints the result.
bench:
	cd bench && $(GO) run . $(or $(BENCH),-out ../docs)
	$(if $(BENCH),,$(GO) test -count=1 -run TestTables ./internal/repo -update)

## ports: move servers from other SDKs to this module, and compare them with the originals: make ports [FROM=folder]
# It needs the network, or a FROM with their git repositories.
ports:
	cd interop && GOWORK=off $(GO) run ./ports $(if $(FROM),-from "$(abspath $(FROM))")

## generate: compile schema/ into generated/mcp
generate:
	$(GO) generate ./...

## history: compile each state of a draft after all revisions, and print the outcomes: make history FROM=folder [PROVE=1]
history:
	@$(GO) run ./gen history -from "$(FROM)" $(if $(PROVE),-prove)

## schema: import a schema: make schema FROM=official.json REVISION=2027-03-01 [COMMIT=…] [REPLACE=1]
schema:
	@$(GO) run ./gen import -from "$(FROM)" -revision "$(REVISION)" $(if $(COMMIT),-commit "$(COMMIT)") $(if $(REPLACE),-replace)
