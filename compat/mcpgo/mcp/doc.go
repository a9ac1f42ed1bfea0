// Package mcp has the names of package mcp of github.com/mark3labs/mcp-go that servers use. The
// names for tasks, sampling, roots and completion are missing.
//
// It is for existing programs. New programs, and files that are rewritten, use
// [github.com/mcpwright/mcp/generated/mcp] and
// [github.com/mcpwright/mcp/runtime/mcpserver]. The page docs/migrating.md maps the names.
package mcp
