// Command client is the client that the official conformance suite drives:
//
//	MCP_CONFORMANCE_SCENARIO=tools_call client http://127.0.0.1:1234/mcp
//
// It does what the scenario asks for by the public API of the client kit, with
// nothing that would not be in a program of a user's.
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

// run plays the scenario that the suite names against the server that it has
// started.
func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: client URL, with the scenario in MCP_CONFORMANCE_SCENARIO")
	}
	name := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	play, known := scenarios[name]
	if strings.HasPrefix(name, "auth/") {
		play, known = scenario{act: callTestTool}, true
	}
	if !known {
		return fmt.Errorf("scenario %q is not known; known are %s",
			name, strings.Join(slices.Sorted(maps.Keys(scenarios)), ", "))
	}
	opts := &mcpclient.Options{
		Info:   mcp.Implementation{Name: "mcpwright-conformance", Version: "1.0.0"},
		Mode:   mode(os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION")),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if play.options != nil {
		play.options(opts)
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
	if err := play.act(ctx, client); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// mode is the era of the revision that the suite wants to be spoken.
func mode(revision string) mcpclient.Mode {
	for _, r := range mcp.Revisions {
		if r.Revision.String() == revision && r.Handshake {
			return mcpclient.Handshake
		}
	}
	return mcpclient.NoHandshake
}
