// Package loglevel compares the levels of log messages.
package loglevel

import (
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
)

// levels contains the levels in ascending order of severity.
var levels = func() []mcp.LoggingLevel {
	var levels []mcp.LoggingLevel
	for _, enum := range mcp.Enums {
		if enum.Type == "LoggingLevel" {
			for _, v := range enum.List {
				levels = append(levels, mcp.LoggingLevel(v.Name))
			}
		}
	}
	return levels
}()

// Severity is the position of a level in the order of severity, beginning with 1. The zero
// Severity is no level.
type Severity uint8

// Of returns the severity of a level, or 0 for an unknown level.
func Of(level mcp.LoggingLevel) Severity {
	if level == "" {
		return 0
	}
	return Severity(slices.Index(levels, level) + 1)
}

// Level returns the level, or the empty string for 0.
func (s Severity) Level() mcp.LoggingLevel {
	if s == 0 {
		return ""
	}
	return levels[s-1]
}

// Valid reports whether level is a level of the protocol.
func Valid(level mcp.LoggingLevel) bool { return slices.Contains(levels, level) }

// Below reports whether a level is less severe than least. It returns false for an unknown
// level: encoding the message returns an error.
func Below(level, least mcp.LoggingLevel) bool {
	i := slices.Index(levels, level)
	return i >= 0 && i < slices.Index(levels, least)
}
