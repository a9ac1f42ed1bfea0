package mcptest_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/wire"
)

// update is a flag of this test program, which Contract finds.
var _ = flag.Bool("update", false, "write contracts")

// recorder is a test that records its failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// forecast returns a server with a tool of which the input is In.
func forecast[In any](description string) *mcpserver.Server {
	s := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0.0"}, &mcpserver.Options{Instructions: "Ask for a city."})
	mcpserver.AddTool(s, &mcp.Tool{Name: "forecast", Description: description}, func(context.Context, *mcp.ServerSession, In) (string, error) {
		return "sunny", nil
	})
	return s
}

type place struct {
	City string `json:"city,omitempty"`
}

type requiredPlace struct {
	City string `json:"city"`
}

func TestContract(t *testing.T) {
	file := filepath.Join(t.TempDir(), "testdata", "mcp.lock.json")
	check := func(s mcptest.Server) string {
		r := &recorder{TB: t}
		mcptest.Contract(r, s, file)
		return strings.Join(r.failures, "\n")
	}
	require.Contains(t, check(forecast[place]("")), "does not exist: run the test with MCPTEST_UPDATE=1")
	t.Run("write", func(t *testing.T) {
		t.Setenv(mcptest.UpdateContracts, "1")
		mcptest.Contract(t, forecast[place](""), file)
	})
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(data), `"instructions": "Ask for a city."`)
	require.Empty(t, check(forecast[place]("")))
	require.Contains(t, check(forecast[requiredPlace]("")), "breaking       tool forecast argument city: required: no → yes\n")
	require.Contains(t, check(forecast[place]("The weather")), "informational  tool forecast: description: none → \"The weather\"\n")
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	require.Contains(t, check(forecast[place]("")), "read "+file)
}

// TestContractUpdate writes the file for the flag and for the variable, and only for them.
func TestContractUpdate(t *testing.T) {
	for _, test := range []struct {
		name, flag, variable string
		written              bool
	}{
		{"flag", "true", "", true},
		{"variable", "false", "1", true},
		{"both", "true", "1", true},
		{"variable 0", "false", "0", false},
		{"none", "false", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.NoError(t, flag.Set("update", test.flag))
			t.Cleanup(func() { require.NoError(t, flag.Set("update", "false")) })
			t.Setenv(mcptest.UpdateContracts, test.variable)
			file := filepath.Join(t.TempDir(), "new", "mcp.lock.json")
			r := &recorder{TB: t}
			mcptest.Contract(r, forecast[place](""), file)
			if !test.written {
				require.NoFileExists(t, file)
				require.Len(t, r.failures, 1)
				return
			}
			require.Empty(t, r.failures)
			before, err := os.ReadFile(file)
			require.NoError(t, err)
			mcptest.Contract(r, forecast[requiredPlace](""), file) // the file exists, and the change is breaking
			require.Empty(t, r.failures)
			after, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NotEqual(t, string(before), string(after))
		})
	}
}

// TestContractOfOldServer reads the offers of servers that have one revision.
func TestContractOfOldServer(t *testing.T) {
	for _, revision := range mcp.Revisions {
		t.Run(revision.Revision.String(), func(t *testing.T) {
			s := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0.0"}, &mcpserver.Options{Revisions: []wire.Revision{revision.Revision}})
			mcpserver.AddTool(s, &mcp.Tool{Name: "forecast"}, func(context.Context, *mcp.ServerSession, place) (string, error) { return "sunny", nil })
			file := filepath.Join(t.TempDir(), "mcp.lock.json")
			t.Setenv(mcptest.UpdateContracts, "1")
			mcptest.Contract(t, s, file)
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, string(data), `"revision": "`+revision.Revision.String()+`"`)
			require.Contains(t, string(data), `"city"`)
			t.Setenv(mcptest.UpdateContracts, "")
			mcptest.Contract(t, s, file)
		})
	}
}
