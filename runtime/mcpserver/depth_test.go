package mcpserver_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// The number of calls between the function that receives a request and the function of a tool:
// in total, and those of this package after the dispatcher.
const (
	depthOfPipe        = 6
	depthInProcess     = 7
	depthOfTheKit      = 2
	dispatcherFunction = "mcp/runtime/connection.(*Dispatcher)."
)

// callers returns the names of the functions that have called its caller, innermost first, up
// to the one that received the request.
func callers() (names []string) {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		names = append(names, f.Function)
		if !more || strings.HasSuffix(f.Function, ".(*InProcessConn).Call") || strings.HasSuffix(f.Function, ".(*Conn).work") || strings.HasSuffix(f.Function, ".(*reading).read") {
			return names
		}
	}
}

func TestCallStackOfToolIsShort(t *testing.T) {
	var stack []string
	s := mcpserver.New(info, nil)
	mcpserver.AddTool(s, &mcp.Tool{Name: "typed"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		stack = callers()
		return "", nil
	})
	s.AddRawTool(&mcp.Tool{Name: "raw"}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		stack = callers()
		return mcp.TextResult(""), nil
	})
	check := func(most int) {
		t.Helper()
		require.LessOrEqual(t, len(stack), most, strings.Join(stack, "\n"))
		kernel := slices.IndexFunc(stack, func(name string) bool { return strings.Contains(name, dispatcherFunction) })
		require.Equal(t, depthOfTheKit, kernel, strings.Join(stack, "\n"))
	}
	for _, revision := range revisions {
		c := connect(t, s, revision)
		for _, name := range []string{"typed", "raw"} {
			c.call("tools/call", `{"name":"`+name+`"}`)
			check(depthOfPipe)
		}
	}
	client := s.InProcess(nil)
	defer client.Close()
	initialize(t, client)
	for _, name := range []string{"typed", "raw"} {
		_, err := peer.SendRequest(t.Context(), client, &mcp.CallToolRequest{Name: name})
		require.NoError(t, err)
		check(depthInProcess)
	}
}
