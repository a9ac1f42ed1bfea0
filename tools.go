//go:build tools

// Package tools pins the version of the go-jsonschema command, so that its output can be compared
// with the output of gen. The build tag excludes the package from every build.
package tools

import _ "github.com/atombender/go-jsonschema"
