// Command client is the client that the official conformance suite tests:
//
//	MCP_CONFORMANCE_SCENARIO=tools_call client http://127.0.0.1:1234/mcp
//
// It runs a scenario with the public API of package mcpclient, as a user's program
// would.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// run runs the scenario that the suite has selected, with the suite's server.
func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: client URL, with the scenario in MCP_CONFORMANCE_SCENARIO")
	}
	name := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	s, known := scenarios[name]
	if strings.HasPrefix(name, "auth/") {
		s, known = scenario{run: callTestTool}, true
	}
	if !known {
		return fmt.Errorf("unknown scenario %q, want one of %s",
			name, strings.Join(slices.Sorted(maps.Keys(scenarios)), ", "))
	}
	opts := &mcpclient.Options{
		Info:   mcp.Implementation{Name: "mcpwright-conformance", Version: "1.0.0"},
		Mode:   mode(os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION")),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if s.options != nil {
		s.options(opts)
	}
	server := mcpclient.URL(args[len(args)-1])
	if strings.HasPrefix(name, "auth/") {
		var err error
		if server.HTTP.HTTPClient, err = httpClient(ctx, name, server.URL); err != nil {
			return err
		}
	}
	client, err := mcpclient.Connect(ctx, server, opts)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := s.run(ctx, client); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// mode returns the kind of a revision.
func mode(revision string) mcpclient.Mode {
	for _, r := range mcp.Revisions {
		if r.Revision.String() == revision && r.Handshake {
			return mcpclient.Handshake
		}
	}
	return mcpclient.NoHandshake
}
