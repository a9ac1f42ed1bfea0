package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/scale"
	"github.com/mcpwright/mcp/runtime/streamable"
	natsengine "github.com/mcpwright/mcp/scale/nats"
)

// Environment variables of a replica.
const (
	envName = "REPLICA"      // its number
	envNATS = "REPLICA_NATS" // the URL of the NATS server
	envKey  = "REPLICA_KEY"  // the key that all replicas have
)

// serveReplica serves until ctx ends, or its standard input. It prints its address to out.
func serveReplica(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the standard input
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	key, err := hex.DecodeString(os.Getenv(envKey))
	if err != nil {
		return err
	}
	conn, err := nats.Connect(os.Getenv(envNATS))
	if err != nil {
		return err
	}
	defer conn.Close()
	// Without a connection to the system account, the setting SyncAlways of the server is not checked.
	storage, err := natsengine.New(ctx, conn, &natsengine.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	node, err := scale.NewNode(storage, storage, &scale.Options{
		Address: "http://" + listener.Addr().String(),
		Keys:    [][]byte{key},
		Lease:   3 * time.Second, // short, so that there is something to see; the default suits a cluster
	})
	if err != nil {
		return err
	}

	server := mcpserver.New(mcp.Implementation{Name: "replicas", Version: "1.0.0"}, &mcpserver.Options{
		Questions: mcpserver.QuestionOptions{SealKeys: [][]byte{key}},
	})
	mcpserver.AddTool(server, &mcp.Tool{Name: "hello"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "hello from replica " + os.Getenv(envName), nil
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", node.Handler(server, nil))
	httpServer := streamable.NewHTTPServer("", mux)
	go httpServer.Serve(listener) // ends with Shutdown
	fmt.Fprintln(out, listener.Addr())

	<-ctx.Done()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(node.Shutdown(last), server.Shutdown(last), httpServer.Shutdown(last))
}
