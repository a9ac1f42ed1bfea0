package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/mcpwright/mcp/runtime/mcpclient"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: client COMMAND [ARGUMENT...]")
	}
	ctx := context.Background()
	server := mcpclient.Command(os.Args[1], os.Args[2:]...) // or mcpclient.URL("https://mcp.example.com/mcp")
	client, err := mcpclient.Connect(ctx, server, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	for tool, err := range client.Tools(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("tool:", tool.Name)
	}
	greeting, err := mcpclient.CallTool[string](ctx, client, "greet", map[string]string{"name": "gopher"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(greeting)
}
