package main

import (
	"context"
	"log"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

type search struct {
	Day string `json:"day" jsonschema:"the day of the flight"`
}

type flight struct {
	Seats int `json:"seats" jsonschema:"the number of free seats"`
}

func find(ctx context.Context, s *mcp.ServerSession, in search) (flight, error) {
	if in.Day == "" {
		return flight{}, mcpserver.Errorf("which day?")
	}
	return flight{Seats: 3}, nil
}

func main() {
	server := mcpserver.New(mcp.Implementation{Name: "flights", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "find", Description: "Finds a flight."}, find)
	if err := server.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}
