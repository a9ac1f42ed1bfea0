package main

import (
	"context"
	"errors"
	"log"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type search struct {
	Day string `json:"day" jsonschema:"the day of the flight"`
}

type flight struct {
	Seats int `json:"seats" jsonschema:"the number of free seats"`
}

func find(ctx context.Context, req mcp.CallToolRequest, in search) (flight, error) {
	if in.Day == "" {
		return flight{}, errors.New("which day?")
	}
	return flight{Seats: 3}, nil
}

func main() {
	s := server.NewMCPServer("flights", "1.0.0")
	tool := mcp.NewTool("find",
		mcp.WithDescription("Finds a flight."),
		mcp.WithInputSchema[search](),
		mcp.WithOutputSchema[flight]())
	s.AddTool(tool, mcp.NewStructuredToolHandler(find))
	if err := server.ServeStdio(s); err != nil {
		log.Fatal(err)
	}
}
