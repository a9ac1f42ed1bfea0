package main

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// table is the form. Each field of the struct is a field of the form.
type table struct {
	Name   string `json:"name" jsonschema:"For whom?"`
	Guests int    `json:"guests" minimum:"1" maximum:"12"`
}

func reserve(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
	t, err := mcpserver.Elicit[table](ctx, s, "Which table?")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Reserved for %s, %d guests.", t.Name, t.Guests), nil
}

func main() {
	server := mcpserver.New(mcp.Implementation{Name: "waiter", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "reserve", Description: "Reserves a table."}, reserve)
	if err := server.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}
