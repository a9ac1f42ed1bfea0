package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

const counterURI = "demo://counter"

// newServer returns a server with four tools: greet returns a text, reserve asks the
// user, summarise asks the model of the client, and count reports progress and changes a
// resource.
func newServer() *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "demo", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets a person."}, greet)
	mcpserver.AddTool(server, &mcp.Tool{Name: "reserve", Description: "Asks the user for the details of a reservation, and reserves a table."}, reserve)
	mcpserver.AddTool(server, &mcp.Tool{Name: "summarise", Description: "Asks the client's model to summarise a text."}, summarise)
	c := &counter{server: server}
	mcpserver.AddTool(server, &mcp.Tool{Name: "count", Description: "Counts up, reports its progress, and updates " + counterURI + "."}, c.count)
	server.AddResource(&mcp.Resource{URI: counterURI, Name: "counter", MIMEType: "text/plain"}, c.read)
	return server
}

type greetInput struct {
	Name string `json:"name" jsonschema:"the name of the person"`
}

func greet(_ context.Context, _ *mcp.ServerSession, in greetInput) (string, error) {
	return "Hello, " + in.Name, nil
}

type table struct {
	Name   string `json:"name" jsonschema:"Which name is the reservation for?" minLength:"1"`
	Guests int    `json:"guests" jsonschema:"How many guests?" minimum:"1" maximum:"12" default:"2"`
}

// reserve asks the user with a form of the fields of table. The code is the same for all
// revisions: before 2026-07-28 the server sends a request to the client, and from then on
// the question is a part of the response.
func reserve(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
	t, err := mcpserver.Elicit[table](ctx, s, "Which table?")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Reserved for %s, %d guests.", t.Name, t.Guests), nil
}

type summariseInput struct {
	Text string `json:"text" jsonschema:"the text to summarise"`
}

func summarise(ctx context.Context, s *mcp.ServerSession, in summariseInput) (string, error) {
	res, err := s.CreateMessage(ctx, &mcp.CreateMessageRequest{
		MaxTokens:    200,
		SystemPrompt: "Summarise in one sentence.",
		Messages:     []mcp.SamplingMessage{mcp.UserText(in.Text)},
	})
	if err != nil {
		return "", err
	}
	return mcp.TextOf(res.Content), nil
}

// counter is a resource that a tool changes.
type counter struct {
	server *mcpserver.Server
	value  atomic.Int64
}

type countInput struct {
	Steps int `json:"steps,omitzero" minimum:"1" maximum:"100" default:"3"`
}

// count increments the counter once per step, and notifies the subscribers of the resource.
func (c *counter) count(ctx context.Context, s *mcp.ServerSession, in countInput) (string, error) {
	total := float64(in.Steps)
	for step := range in.Steps {
		if err := s.ReportProgress(ctx, peer.Progress{Progress: float64(step + 1), Total: &total}); err != nil {
			return "", err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		c.value.Add(1)
	}
	return fmt.Sprintf("The counter is at %d.", c.value.Load()), c.server.ResourceUpdated(ctx, counterURI)
}

func (c *counter) read(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	text := fmt.Sprint(c.value.Load())
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{Text: text}}}, nil
}
