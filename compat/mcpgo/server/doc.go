// Package server has the names of package server of github.com/mark3labs/mcp-go.
package server
