package main

import (
	"context"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// addResources registers the resources.
func addResources(s *mcpserver.Server) {
	text := func(uri, text string) *mcp.ReadResourceResult {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: uri, MIMEType: "text/plain", Text: text}}}
	}
	for uri, content := range map[string]string{"test://static-text": "constant text", "test://watched-resource": "watched text"} {
		s.AddResource(&mcp.Resource{URI: uri, Name: uri[len("test://"):], Description: "Some text.", MIMEType: "text/plain"},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return text(uri, content), nil
			})
	}
	s.AddResource(&mcp.Resource{URI: "test://static-binary", Name: "static-binary", Description: "An image.", MIMEType: "image/png"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
				&mcp.BlobResourceContents{URI: req.URI, MIMEType: "image/png", Blob: pixel()},
			}}, nil
		})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", Description: "Data by id.", MIMEType: "text/plain"},
		func(_ context.Context, req *mcp.ReadResourceRequest, vars mcpserver.Variables) (*mcp.ReadResourceResult, error) {
			return text(req.URI, fmt.Sprintf("data of %s", vars.Get("id"))), nil
		})
}
