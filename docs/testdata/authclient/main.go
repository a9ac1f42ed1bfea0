package main

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/mcpwright/mcp/runtime/auth"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

func main() {
	ctx := context.Background()
	const url = "https://mcp.example.com/mcp"
	transport, err := auth.NewTransport(url, &auth.TransportOptions{
		Grant: &auth.AuthorizationCode{ClientName: "Weather Desk", OpenBrowser: auth.OpenBrowser},
	})
	if err != nil {
		log.Fatal(err)
	}
	server := mcpclient.URL(url)
	server.HTTP.HTTPClient = &http.Client{Transport: transport}
	client, err := mcpclient.Connect(ctx, server, &mcpclient.Options{
		Cache: mcpclient.CacheOptions{Context: transport.AuthorizationID},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	fmt.Println(mcpclient.CallTool[string](ctx, client, "whoami", nil))
}
