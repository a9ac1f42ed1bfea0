package repo

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The module's packages that others build on, from the floor up.
var (
	floor   = []string{"runtime/wire"}
	border  = []string{"runtime/peer", "runtime/wire"}
	code    = []string{"generated/mcp", "runtime/peer", "runtime/wire"}
	carrier = []string{"runtime/internal/eras", "runtime/internal/lazy", "runtime/internal/limit", "runtime/internal/paramheader", "runtime/internal/verified", "runtime/dispatch", "runtime/connection", "generated/mcp", "runtime/peer", "runtime/wire"}
	kit     = append([]string{"runtime/stdio", "runtime/streamable", "runtime/internal/judge", "runtime/internal/jsontag", "runtime/tasks", "schema"}, carrier...)
)

// What comes from elsewhere, by what it is for.
var (
	schemas   = "github.com/atombender/go-jsonschema/pkg/schemas"
	printer   = "github.com/dave/jennifer/jen"
	judge     = "github.com/santhosh-tekuri/jsonschema/v5"
	inference = "github.com/google/jsonschema-go/jsonschema"
	templates = "github.com/yosida95/uritemplate/v3"
	oauth     = "golang.org/x/oauth2"
	tokens    = "github.com/golang-jwt/jwt/v5"
)

// arrow says what a package may import beside the standard library and the
// packages below itself.
type arrow struct{ own, foreign []string }

// arrows is the table of the architecture. A package below one of these has
// the same arrows.
var arrows = map[string]arrow{
	"schema":                       {},
	"gen":                          {own: []string{"schema"}},
	"gen/internal/load":            {foreign: []string{schemas, judge}},
	"gen/internal/ir":              {foreign: []string{schemas}},
	"gen/internal/emit":            {own: []string{"gen/internal/ir"}, foreign: []string{printer}},
	"generated/mcp":                {own: border},
	"runtime/wire":                 {},
	"runtime/peer":                 {own: floor},
	"runtime/internal/eras":        {own: code},
	"runtime/internal/lazy":        {},
	"runtime/internal/jsontag":     {},
	"runtime/internal/limit":       {},
	"runtime/dispatch":             {own: append([]string{"runtime/internal/lazy", "runtime/internal/limit"}, border...)},
	"runtime/connection":           {own: append([]string{"runtime/internal/eras", "runtime/internal/jsontag", "runtime/internal/paramheader"}, code...)},
	"runtime/stdio":                {own: carrier},
	"runtime/internal/paramheader": {own: floor},
	"runtime/internal/verified":    {},
	"runtime/internal/judge":       {own: floor, foreign: []string{judge}},
	"runtime/streamable":           {own: carrier},
	"runtime/tasks":                {own: code},
	"runtime/mcpserver":            {own: kit, foreign: []string{judge, inference, templates}},
	"runtime/mcpclient":            {own: kit, foreign: []string{judge, inference, templates}},
	"runtime/mcptest":              {own: kit, foreign: []string{judge, inference, templates}},
	"runtime/auth":                 {own: []string{"runtime/internal/verified"}, foreign: []string{oauth, tokens}},
	"internal/leaks":               {},
	"internal/logbook":             {},
	"internal/pipes":               {},
	"internal/repo":                {},
}

// programs may import everything: nothing imports them.
var programs = []string{"internal/acceptance", "examples", "docs", "bench", "runtime/internal/conformance"}

func TestPackagesImportOnlyWhatTheArchitectureSays(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, p := range packages(t, goos) {
			if owner(p.path(), programs) != "" {
				continue
			}
			from := owner(p.path(), keys())
			require.NotEmpty(t, from, "%s has no arrows; the architecture and this table must name it", p.path())
			for _, path := range p.Imports {
				require.True(t, allowed(from, path), "on %s, %s imports %s", goos, p.path(), path)
			}
		}
	}
}

// allowed tells whether the package from may import a path.
func allowed(from, path string) bool {
	a := arrows[from]
	local, own := strings.CutPrefix(path, module+"/")
	switch {
	case own:
		return within(local, from) || slices.Contains(a.own, local)
	case standard(path):
		return true
	}
	return slices.ContainsFunc(a.foreign, func(f string) bool { return within(path, f) })
}

// standard tells the packages that come with Go, whose first part has no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && first != "C"
}

func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// owner finds the longest of the folders that a path is in.
func owner(path string, folders []string) string {
	var best string
	for _, f := range folders {
		if within(path, f) && len(f) > len(best) {
			best = f
		}
	}
	return best
}

func keys() []string {
	var list []string
	for path := range arrows {
		list = append(list, path)
	}
	return list
}

func TestArrowsPointOneWay(t *testing.T) {
	for from, a := range arrows {
		for _, to := range a.own {
			require.Contains(t, arrows, to)
			require.NotContains(t, arrows[to].own, from)
		}
	}
}

func TestAnyOtherArrowIsRefused(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"runtime/wire", module + "/runtime/peer"},
		{"runtime/peer", module + "/generated/mcp"},
		{"generated/mcp", module + "/runtime/dispatch"},
		{"runtime/dispatch", module + "/generated/mcp"},
		{"runtime/connection", module + "/runtime/dispatch"},
		{"generated/mcp", judge},
		{"runtime/stdio", module + "/runtime/mcpserver"},
		{"gen/internal/ir", module + "/gen/internal/load"},
		{"gen/internal/ir", printer},
		{"runtime/wire", "C"},
	} {
		require.False(t, allowed(c.from, c.to), "%s -> %s", c.from, c.to)
	}
}
