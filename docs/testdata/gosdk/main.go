package main

import (
	"context"
	"errors"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type search struct {
	Day string `json:"day" jsonschema:"the day of the flight"`
}

type flight struct {
	Seats int `json:"seats" jsonschema:"the number of free seats"`
}

func find(ctx context.Context, req *mcp.CallToolRequest, in search) (*mcp.CallToolResult, flight, error) {
	if in.Day == "" {
		return nil, flight{}, errors.New("which day?")
	}
	return nil, flight{Seats: 3}, nil
}

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "flights", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "find", Description: "Finds a flight."}, find)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
