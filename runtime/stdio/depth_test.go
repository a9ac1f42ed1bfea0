//go:build unix

package stdio_test

import (
	"bufio"
	"context"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
)

// most is how many functions there are on the stack of a handler, the handler and
// the one that its goroutine began with among them.
const most = 6

// A stack has to grow for what is on it, and everybody who debugs a handler has
// to read it.
func TestSixFunctionsLeadFromTheBytesToTheHandler(t *testing.T) {
	var stack []string
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		stack = callers()
		return &mcp.CallToolResult{}, nil
	})
	for revision, meta := range map[string]string{
		"2025-11-25": ``,
		"2026-07-28": `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`,
	} {
		t.Run(revision, func(t *testing.T) {
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			pipe := connection.NewPipe(connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux}), nil)
			ended := make(chan error)
			go func() { ended <- stdio.ServeStreams(context.Background(), in, out, pipe, nil) }() // ends when its input does
			answers := bufio.NewReader(fromServer)
			ask := func(line string) {
				_, err := io.WriteString(toServer, line+"\n")
				require.NoError(t, err)
				_, err = answers.ReadString('\n')
				require.NoError(t, err)
			}
			if meta == "" {
				ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
			}
			stack = nil
			ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather"` + meta + `}}`)
			require.NotEmpty(t, stack)
			require.LessOrEqual(t, len(stack), most, strings.Join(stack, "\n"))
			require.NoError(t, toServer.Close())
			require.NoError(t, <-ended)
		})
	}
}

// callers lists the functions on the stack, from its caller on, without the
// runtime's own.
func callers() (names []string) {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); !strings.HasPrefix(f.Function, "runtime.") {
			names = append(names, f.Function)
		}
	}
	return names
}
