package repo

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Groups of packages that others import, from the lowest up.
var (
	wireOnly = []string{"runtime/wire"}
	boundary = []string{"runtime/peer", "runtime/wire"}
	protocol = []string{"generated/mcp", "runtime/peer", "runtime/wire"}
	// shared are the internal packages of the runtime that any package above them may import.
	shared = []string{
		"runtime/internal/batch", "runtime/internal/brokenpipe", "runtime/internal/buffer", "runtime/internal/capabilities", "runtime/internal/challenge", "runtime/internal/failure", "runtime/internal/fit", "runtime/internal/headers",
		"runtime/internal/lazy", "runtime/internal/limit", "runtime/internal/loglevel", "runtime/internal/outbound", "runtime/internal/paramheader", "runtime/internal/progress",
		"runtime/internal/revisions", "runtime/internal/serverurl", "runtime/internal/verified",
	}
	transport = append([]string{"runtime/budget", "runtime/jsonrpc", "runtime/connection", "runtime/internal/pipe", "generated/mcp", "runtime/peer", "runtime/wire"}, shared...)
	kit       = append([]string{"runtime/stdio", "runtime/internal/validate", "runtime/internal/jsontag", "runtime/internal/request", "runtime/internal/extension", "schema"}, transport...)
	overHTTP  = append([]string{"runtime/streamable", "runtime/streamable/client", "generated/tasks", "runtime/internal/sessiontasks", "runtime/tasks"}, kit...)
)

// Modules of others, named for their use.
var (
	schemas   = "github.com/atombender/go-jsonschema/pkg/schemas"
	printer   = "github.com/dave/jennifer/jen"
	validator = "github.com/santhosh-tekuri/jsonschema/v5"
	oauth     = "golang.org/x/oauth2"
	tokens    = "github.com/golang-jwt/jwt/v5"
)

// imports lists what a package may import in addition to the standard library and the packages
// in folders below its own that have no entry: packages of this module and of other modules.
type imports struct{ own, foreign []string }

// allowedImports is the architecture. A package in a folder below an entry has the same imports as
// the entry.
var allowedImports = map[string]imports{
	"schema":                        {},
	"gen":                           {own: []string{"schema", "gen/internal/load", "gen/internal/ir", "gen/internal/emit", "gen/internal/extension", "gen/internal/refusal"}},
	"gen/internal/load":             {own: []string{"gen/internal/refusal"}, foreign: []string{schemas, validator}},
	"gen/internal/ir":               {own: []string{"gen/internal/refusal"}, foreign: []string{schemas}},
	"gen/internal/refusal":          {},
	"gen/internal/extension":        {own: []string{"gen/internal/ir", "gen/internal/load", "gen/internal/refusal"}},
	"gen/internal/emit":             {own: []string{"gen/internal/ir", "gen/internal/refusal"}, foreign: []string{printer}},
	"generated/mcp":                 {own: boundary},
	"generated/tasks":               {own: protocol},
	"generated/apps":                {own: protocol},
	"generated/skills":              {own: protocol},
	"runtime/wire":                  {},
	"runtime/peer":                  {own: wireOnly},
	"runtime/internal/batch":        {own: wireOnly},
	"runtime/internal/brokenpipe":   {},
	"runtime/budget":                {own: []string{"runtime/internal/limit"}},
	"runtime/internal/buffer":       {own: []string{"runtime/budget"}},
	"runtime/internal/capabilities": {own: protocol},
	"runtime/internal/challenge":    {},
	"runtime/internal/serverurl":    {},
	"runtime/internal/extension":    {own: append([]string{"runtime/budget", "runtime/connection"}, protocol...)},
	"runtime/internal/failure":      {own: boundary},
	"runtime/internal/headers":      {},
	"runtime/internal/loglevel":     {own: protocol},
	"runtime/internal/pipe":         {own: append([]string{"runtime/connection", "runtime/jsonrpc"}, boundary...)},
	"runtime/internal/progress":     {own: wireOnly},
	"runtime/internal/request":      {own: boundary},
	"runtime/internal/revisions":    {own: protocol},
	"runtime/internal/sealed":       {own: []string{"runtime/engine"}},
	"runtime/internal/taskrecords":  {own: []string{"runtime/engine", "runtime/internal/sealed"}},
	"runtime/internal/sessiontasks": {own: append([]string{"runtime/budget", "runtime/connection", "runtime/engine", "runtime/internal/failure", "runtime/internal/limit", "runtime/internal/outbound", "runtime/internal/progress", "runtime/internal/revisions",
		"runtime/internal/sealed", "runtime/internal/taskrecords"}, protocol...)},
	"runtime/internal/lazy":     {},
	"runtime/internal/jsontag":  {},
	"runtime/internal/limit":    {},
	"runtime/internal/fit":      {own: append([]string{"runtime/internal/revisions"}, protocol...)},
	"runtime/internal/outbound": {own: boundary},
	"runtime/jsonrpc": {own: append([]string{"runtime/budget", "runtime/internal/batch", "runtime/internal/brokenpipe", "runtime/internal/buffer", "runtime/internal/failure", "runtime/internal/lazy", "runtime/internal/limit",
		"runtime/internal/outbound", "runtime/internal/progress"}, boundary...)},
	"runtime/connection": {own: append([]string{"runtime/budget", "runtime/internal/capabilities", "runtime/internal/fit", "runtime/internal/headers", "runtime/internal/jsontag", "runtime/internal/limit", "runtime/internal/loglevel", "runtime/internal/outbound",
		"runtime/internal/paramheader", "runtime/internal/request", "runtime/internal/revisions"}, protocol...)},
	"runtime/stdio":                       {own: transport},
	"runtime/internal/paramheader":        {own: wireOnly},
	"runtime/internal/verified":           {},
	"runtime/internal/validate":           {own: wireOnly},
	"runtime/streamable":                  {own: append([]string{"runtime/streamable/internal/mcphttp", "runtime/streamable/internal/sse"}, transport...)},
	"runtime/streamable/client":           {own: append([]string{"runtime/streamable/internal/mcphttp", "runtime/streamable/internal/sse"}, transport...)},
	"runtime/streamable/internal/mcphttp": {own: transport},
	"runtime/streamable/internal/sse":     {own: append([]string{"runtime/streamable/internal/mcphttp"}, transport...)},
	"runtime/apps":                        {own: append([]string{"generated/apps", "runtime/mcpserver"}, protocol...)},
	"runtime/skills":                      {own: append([]string{"generated/skills", "runtime/connection", "runtime/internal/extension", "runtime/internal/limit", "runtime/mcpserver"}, protocol...)},
	"runtime/tasks": {own: append([]string{"generated/tasks", "runtime/budget", "runtime/connection", "runtime/engine", "runtime/internal/extension", "runtime/internal/failure", "runtime/internal/headers", "runtime/internal/limit", "runtime/internal/outbound",
		"runtime/internal/paramheader", "runtime/internal/revisions", "runtime/internal/sealed", "runtime/internal/sessiontasks", "runtime/internal/taskrecords"}, protocol...)},
	"runtime/engine":    {},
	"runtime/scale":     {own: []string{"runtime/connection", "runtime/engine", "runtime/internal/limit", "runtime/internal/sealed", "runtime/internal/verified", "runtime/mcpserver", "runtime/streamable", "generated/mcp", "runtime/wire"}},
	"runtime/mcpserver": {own: kit},
	"runtime/mcpclient": {own: overHTTP},
	"runtime/health":    {own: append([]string{"runtime/mcpserver"}, overHTTP...)},
	"runtime/mcptest":   {own: append([]string{"internal/contract"}, overHTTP...)},
	"runtime/auth":      {own: []string{"runtime/internal/challenge", "runtime/internal/verified"}, foreign: []string{oauth, tokens}},
	"internal/contract": {own: protocol},
	"internal/leaks":    {},
	"internal/testlog":  {},
	"internal/pipes":    {},
	"internal/repo":     {},
	"internal/words":    {},
}

// programs may import everything, because nothing imports them.
var programs = []string{"internal/acceptance", "internal/sharedtasks", "internal/bustest", "internal/enginelink", "internal/engineoutage", "examples", "docs", "bench", "internal/conformance"}

func TestPackagesImportOnlyWhatTheArchitectureAllows(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, p := range packages(t, goos) {
			if p.path() == "" {
				require.Empty(t, p.Imports, "the root is only a description")
				continue
			}
			if owner(p.path(), programs) != "" {
				continue
			}
			from := owner(p.path(), keys())
			require.NotEmpty(t, from, "add %s to allowedImports", p.path())
			for _, path := range p.Imports {
				require.True(t, allowed(from, path), "on %s, %s imports %s", goos, p.path(), path)
			}
		}
	}
}

// A server on a pipe compiles and starts faster, and is smaller, without the packages of the network and
// without extensions that it does not use.
func TestServersLinkOnlyWhatTheyUse(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "./runtime/mcpserver", "./runtime/stdio")
	list.Dir = "../.."
	out, err := list.Output()
	require.NoError(t, err)
	deps := strings.Fields(string(out))
	require.Contains(t, deps, module+"/runtime/connection")
	unused := []string{"net", "net/http", "crypto/tls"}
	for _, path := range []string{"generated/skills", "generated/tasks", "runtime/engine", "runtime/internal/sessiontasks", "runtime/internal/taskrecords", "runtime/skills", "runtime/tasks"} {
		unused = append(unused, module+"/"+path)
	}
	for _, path := range unused {
		require.NotContains(t, deps, path)
	}
}

// allowed reports whether the package from may import a path.
func allowed(from, path string) bool {
	a := allowedImports[from]
	local, own := strings.CutPrefix(path, module+"/")
	switch {
	case own:
		return owner(local, keys()) == from || slices.Contains(a.own, local)
	case standard(path):
		return true
	}
	return slices.ContainsFunc(a.foreign, func(f string) bool { return within(path, f) })
}

// standard reports whether a package is part of Go: the first element of its path has no dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && first != "C"
}

func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// owner returns the longest of the folders that contain a path, or "".
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
	for path := range allowedImports {
		list = append(list, path)
	}
	return list
}

func TestImportsHaveNoCycle(t *testing.T) {
	for from, a := range allowedImports {
		for _, to := range a.own {
			require.Contains(t, allowedImports, to)
			require.NotContains(t, allowedImports[to].own, from)
		}
	}
}

func TestOtherImportsAreRefused(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{"runtime/wire", module + "/runtime/peer"},
		{"runtime/peer", module + "/generated/mcp"},
		{"generated/mcp", module + "/runtime/jsonrpc"},
		{"runtime/jsonrpc", module + "/generated/mcp"},
		{"runtime/connection", module + "/runtime/jsonrpc"},
		{"generated/mcp", validator},
		{"runtime/stdio", module + "/runtime/mcpserver"},
		{"runtime/streamable", module + "/runtime/streamable/client"},
		{"runtime/streamable/client", module + "/runtime/streamable"},
		{"gen/internal/ir", module + "/gen/internal/load"},
		{"gen/internal/ir", printer},
		{"runtime/wire", "C"},
	} {
		require.False(t, allowed(c.from, c.to), "%s -> %s", c.from, c.to)
	}
}
