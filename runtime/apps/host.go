package apps

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/generated/apps"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

// Declare adds the extension to the capabilities of a client that shows views:
//
//	opts := new(mcpclient.Options)
//	apps.Declare(&opts.Capabilities)
func Declare(c *mcp.ClientCapabilities) {
	// An error is not possible: the settings are a list of strings.
	_ = apps.SetClientSettings(&c.Extensions, &apps.ClientCapabilities{MIMETypes: []string{MIMEType}})
}

// ViewURI returns the URI of the view that shows the calls of a tool, or the empty string if
// there is none. It accepts the form of early servers, too. The URI begins with "ui://".
func ViewURI(t *mcp.Tool) string {
	meta, _ := mcp.Get[toolMeta](t.Meta, metaKey)
	uri := meta.ResourceURI
	if uri == "" {
		uri, _ = mcp.Get[string](t.Meta, legacyKey)
	}
	if checkURI(uri) != nil {
		return ""
	}
	return uri
}

// VisibleTo reports whether a caller may call a tool. A host must not show tools to its model
// that are not visible to [ToolVisibilityModel], and must refuse calls by a view of tools that
// are not visible to [ToolVisibilityApp]. A view can never call tools of another server.
//
// A tool whose metadata is not valid is visible to no caller.
func VisibleTo(t *mcp.Tool, caller ToolVisibility) bool {
	if _, has := t.Meta[metaKey]; !has {
		return true
	}
	meta, ok := mcp.Get[toolMeta](t.Meta, metaKey)
	return ok && (meta.Visibility == nil || slices.Contains(meta.Visibility, caller))
}

// Document is a view that a client has read.
type Document struct {
	// URI identifies the view.
	URI string
	// HTML is the text of the view. Do not trust it: show it in a frame with the attribute
	// "sandbox", whose origin is not the host's, with the policy that Policy returns.
	HTML string
	// Meta describes how to show the view.
	Meta ResourceMeta
}

// Policy returns the Content-Security-Policy of the document. It permits inline scripts and
// styles, images in "data:" URLs, and the origins in Meta.CSP. It omits origins that are not
// valid, because they could add directives.
func (d *Document) Policy() string { return policy(&d.Meta) }

// Allow returns the value of the attribute "allow" of the document's frame, for the permissions
// that the view needs. It is empty if the view needs none. The host may grant fewer.
func (d *Document) Allow() string {
	if d.Meta.Permissions == nil {
		return ""
	}
	return allow(d.Meta.Permissions)
}

// ReadView reads a view of a server. The sender is usually a client of package mcpclient. The
// metadata of the contents precedes the metadata in the list of resources. The list is requested
// only if the contents have none.
//
// ReadView returns an error if the URI does not begin with "ui://", or if the contents are not
// one HTML document with [MIMEType] and at most 2 MiB.
func ReadView(ctx context.Context, server peer.Outbound, uri string) (*Document, error) {
	d, err := readView(ctx, server, uri)
	if err != nil {
		return nil, fmt.Errorf("read view %q: %w", uri, err)
	}
	return d, nil
}

func readView(ctx context.Context, server peer.Outbound, uri string) (*Document, error) {
	if err := checkURI(uri); err != nil {
		return nil, err
	}
	res, err := peer.SendRequest(ctx, server, &mcp.ReadResourceRequest{URI: uri})
	if err != nil {
		return nil, err
	}
	if len(res.Contents) != 1 {
		return nil, fmt.Errorf("server returned %d contents, want 1", len(res.Contents))
	}
	d := &Document{URI: uri}
	var mimeType string
	var meta mcp.Meta
	switch c := res.Contents[0].(type) {
	case *mcp.TextResourceContents:
		d.HTML, mimeType, meta = c.Text, c.MIMEType, c.Meta
	case *mcp.BlobResourceContents:
		d.HTML, mimeType, meta = string(c.Blob), c.MIMEType, c.Meta
	}
	if !isViewType(mimeType) {
		return nil, fmt.Errorf("server returned the media type %q, want %q", mimeType, MIMEType)
	}
	if err := checkHTML(d.HTML); err != nil {
		return nil, err
	}
	if _, has := meta[metaKey]; !has {
		if meta, err = listedMeta(ctx, server, uri); err != nil {
			return nil, err
		}
	}
	if m, ok := resourceMetaOf(meta); ok {
		d.Meta = *m
	} else if _, has := meta[metaKey]; has {
		return nil, fmt.Errorf("invalid metadata %q: %s", metaKey, meta[metaKey])
	}
	return d, nil
}

// listedMeta returns the metadata of a resource in the list of resources, or nil if the list does
// not contain it. A server may omit views from the list.
func listedMeta(ctx context.Context, server peer.Outbound, uri string) (mcp.Meta, error) {
	for r, err := range (mcp.ServerPeer{Outbound: server}).ListResourcesAll(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list resources: %w", err)
		}
		if r.URI == uri {
			return r.Meta, nil
		}
	}
	return nil, nil
}

// Check checks the apps of a server, for tests: each tool's metadata is valid, and each view to
// which a tool refers can be read and has valid origins. The error joins an error for each tool.
// The client should have declared the extension, because the server may hide tools otherwise.
func Check(ctx context.Context, server peer.Outbound) error {
	var all []error
	read := map[string]error{}
	for t, err := range (mcp.ServerPeer{Outbound: server}).ListToolsAll(ctx, nil) {
		if err != nil {
			return fmt.Errorf("check apps: list tools: %w", err)
		}
		if err := checkTool(ctx, server, t, read); err != nil {
			all = append(all, fmt.Errorf("check apps: tool %q: %w", t.Name, err))
		}
	}
	return errors.Join(all...)
}

// checkTool checks a tool. The map has the results for the views that were read.
func checkTool(ctx context.Context, server peer.Outbound, t *mcp.Tool, read map[string]error) error {
	if raw, has := t.Meta[metaKey]; has {
		meta, ok := apps.ToolMetaOf(t.Meta)
		if !ok || meta == nil {
			return fmt.Errorf("invalid metadata %q: %s", metaKey, raw)
		}
		if meta.ResourceURI != "" {
			if err := checkURI(meta.ResourceURI); err != nil {
				return err
			}
		}
	}
	uri := ViewURI(t)
	if uri == "" {
		return nil
	}
	err, done := read[uri]
	if !done {
		err = checkView(ctx, server, uri)
		read[uri] = err
	}
	return err
}

func checkView(ctx context.Context, server peer.Outbound, uri string) error {
	d, err := ReadView(ctx, server, uri)
	if err != nil {
		return err
	}
	if err := checkOrigins(&d.Meta); err != nil {
		return fmt.Errorf("view %q: %w", uri, err)
	}
	return nil
}

// isViewType reports whether a media type is the type of views, in any spelling.
func isViewType(text string) bool {
	t, params, err := mime.ParseMediaType(text)
	return err == nil && t == "text/html" && strings.EqualFold(params["profile"], "mcp-app")
}
