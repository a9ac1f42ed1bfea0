# The two commands: make run, make test. Everything else serves them.
GO ?= go

.PHONY: test generate schema check

## test: everything that CI runs
test:
	./.ci/test

## generate: compile schema/ into generated/mcp
generate:
	$(GO) generate ./...

## schema: import a revision: make schema FROM=official.json REVISION=2027-03-01 [COMMIT=…] [REPLACE=1]
schema:
	@$(GO) run ./gen import -from "$(FROM)" -revision "$(REVISION)" $(if $(COMMIT),-commit "$(COMMIT)") $(if $(REPLACE),-replace)
