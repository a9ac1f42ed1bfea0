# The two commands: make run, make test. Everything else serves them.
GO ?= go
ADDR ?= 127.0.0.1:8080

.PHONY: run test bench generate schema

## run: check the generated code against the schemas, then serve the demo on ADDR
# The demo is a program of its own here, because "go run" fails when it is interrupted.
run:
	@$(GO) run ./gen -check || $(GO) generate ./...
	@trap : INT; dir=$$(mktemp -d) && $(GO) build -buildvcs=false -o "$$dir/demo" ./examples/demo && "$$dir/demo" -addr "$(ADDR)"; \
		status=$$?; rm -rf "$$dir"; exit $$status

## test: everything that CI runs
test:
	./.ci/test

## bench: measure against other SDKs, print the table, and draw the README's chart and table anew
# With BENCH='-run HTTP -rounds 2' it measures less, and only prints: half a table is not for the README.
bench:
	cd bench && $(GO) run . $(or $(BENCH),-out ../docs)
	$(if $(BENCH),,$(GO) test -count=1 -run TestTables ./internal/repo -update)

## generate: compile schema/ into generated/mcp
generate:
	$(GO) generate ./...

## schema: import a revision: make schema FROM=official.json REVISION=2027-03-01 [COMMIT=…] [REPLACE=1]
schema:
	@$(GO) run ./gen import -from "$(FROM)" -revision "$(REVISION)" $(if $(COMMIT),-commit "$(COMMIT)") $(if $(REPLACE),-replace)
