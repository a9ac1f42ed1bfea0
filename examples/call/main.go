// Command call is a client that calls the tool "greet" of a server. The server is a command
// to start, or a URL:
//
//	go run ./examples/call go run ./examples/hello
//	go run ./examples/call http://127.0.0.1:8080/mcp
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/mcpwright/mcp/runtime/mcpclient"
)

func main() {
	flag.Usage = func() { fmt.Fprintln(flag.CommandLine.Output(), "usage: call URL | COMMAND [ARGUMENT...]") }
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), endpoint(flag.Args())); err != nil {
		log.Fatal(err)
	}
}

// endpoint returns the server that the arguments specify.
func endpoint(args []string) mcpclient.Endpoint {
	if strings.Contains(args[0], "://") {
		return mcpclient.URL(args[0])
	}
	command := mcpclient.Command(args[0], args[1:]...)
	command.Start.Stderr = os.Stderr
	return command
}

func run(ctx context.Context, server mcpclient.Endpoint) error {
	client, err := mcpclient.Connect(ctx, server, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	greeting, err := mcpclient.CallTool[string](ctx, client, "greet", map[string]string{"name": "gopher"})
	if err != nil {
		return err
	}
	fmt.Println(greeting, "in", client.Revision().String())
	return nil
}
