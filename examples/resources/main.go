// Command resources is a server with notes as resources, on standard input and output. It
// has a resource that lists the notes, and a resource template with completion to read a
// note. Its tool changes a note and notifies the subscribers of the changed resources.
//
// Start it from a client, for example the MCP Inspector:
//
//	npx @modelcontextprotocol/inspector go run ./examples/resources
package main

import (
	"context"
	"log"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

func main() {
	if err := newServer().ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}

const (
	index    = "notes://index"
	template = "notes://note/{name}"
)

// notes stores the notes in memory.
type notes struct {
	server *mcpserver.Server

	mu    sync.Mutex
	texts map[string]string // by name
}

func newServer() *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	n := &notes{server: server, texts: map[string]string{"todo": "buy milk"}}
	server.AddResource(&mcp.Resource{URI: index, Name: "index", MIMEType: "text/plain"}, n.list)
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: template, Name: "note", MIMEType: "text/plain"}, n.read)
	server.AddTemplateCompleter(template, "name", n.complete)
	mcpserver.AddTool(server, &mcp.Tool{Name: "write", Description: "Writes a note."}, n.write)
	return server
}

func (n *notes) list(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return text(strings.Join(n.names(), "\n")), nil
}

func (n *notes) read(_ context.Context, req *mcp.ReadResourceRequest, vars mcpserver.Variables) (*mcp.ReadResourceResult, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	note, ok := n.texts[vars.Get("name")]
	if !ok {
		return nil, mcpserver.NotFound(req.URI)
	}
	return text(note), nil
}

func (n *notes) complete(ctx context.Context, req *mcp.CompleteRequest) ([]string, error) {
	return mcpserver.CompleteFrom(n.names()...)(ctx, req)
}

// writeInput has the arguments of the tool.
type writeInput struct {
	Name string `json:"name" pattern:"^[a-z]+$"`
	Text string `json:"text"`
}

// write changes a note and notifies the subscribers of the note. If the note is new, it also
// notifies the subscribers of the index.
func (n *notes) write(ctx context.Context, _ *mcp.ServerSession, in writeInput) (struct{}, error) {
	n.mu.Lock()
	_, exists := n.texts[in.Name]
	n.texts[in.Name] = in.Text
	n.mu.Unlock()
	if !exists {
		if err := n.server.ResourceUpdated(ctx, index); err != nil {
			return struct{}{}, err
		}
	}
	return struct{}{}, n.server.ResourceUpdated(ctx, "notes://note/"+in.Name)
}

func (n *notes) names() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.texts))
}

func text(s string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{MIMEType: "text/plain", Text: s}}}
}
