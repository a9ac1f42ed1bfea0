module github.com/mcpwright/mcp/compat/mcpgo

go 1.26.0

require (
	github.com/mcpwright/mcp v0.0.0-00010101000000-000000000000
	github.com/yosida95/uritemplate/v3 v3.0.2
)
