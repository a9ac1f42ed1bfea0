//go:build tools

// Package tools pins the programs that work on this repository's sources: the
// go-jsonschema command, kept so that its output can be compared with ours.
// The build tag keeps it out of every build.
package tools

import _ "github.com/atombender/go-jsonschema"
