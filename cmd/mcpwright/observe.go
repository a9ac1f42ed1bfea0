package main

import (
	"sync/atomic"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/stdio"
)

// observeCommand makes a recorder observe the messages of a command.
func observeCommand(to *mcpclient.CommandEndpoint, recorder *wiretrace.Recorder) {
	var pipe atomic.Pointer[wiretrace.Pipe] // of the current child
	to.Start.Ready = func(*stdio.Process) { pipe.Store(recorder.Pipe()) }
	to.Start.Observe = func(sent bool, b []byte) {
		from := mcptest.FromServer
		if sent {
			from = mcptest.FromClient
		}
		pipe.Load().Copied(from, b)
	}
}
