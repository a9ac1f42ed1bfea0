# The two commands: make run, make test. Everything else serves them.
GO ?= go
ADDR ?= 127.0.0.1:8080

.PHONY: run test bench generate schema

## run: check the generated code against the schemas, then serve the demo on ADDR
run:
	@$(GO) run ./gen -check || $(GO) generate ./...
	@$(GO) run ./examples/demo -addr "$(ADDR)"

## test: everything that CI runs
test:
	./.ci/test

## bench: measure against other SDKs; rewrites docs/bench.json, docs/bench.svg and the README's table
bench:
	cd bench && $(GO) run . -out ../docs
	$(GO) test -count=1 -run TestREADME ./internal/repo -update

## generate: compile schema/ into generated/mcp
generate:
	$(GO) generate ./...

## schema: import a revision: make schema FROM=official.json REVISION=2027-03-01 [COMMIT=…] [REPLACE=1]
schema:
	@$(GO) run ./gen import -from "$(FROM)" -revision "$(REVISION)" $(if $(COMMIT),-commit "$(COMMIT)") $(if $(REPLACE),-replace)
