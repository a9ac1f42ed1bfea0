package apps

import (
	"github.com/mcpwright/mcp/generated/apps"
	"github.com/mcpwright/mcp/generated/mcp"
)

// Name identifies the extension.
const Name = apps.Name

// MIMEType is the media type of views.
const MIMEType = "text/html;profile=mcp-app"

// These are types of package generated/apps, which also has the messages between a view and its
// host.
type (
	// ResourceMeta describes how to show a view.
	ResourceMeta = apps.ResourceMeta
	// ResourceCSP lists the origins that a view may use, such as "https://cdn.example.com". The
	// name of a host may begin with "*.". All other origins are blocked.
	ResourceCSP = apps.ResourceCSP
	// ResourcePermissions has a map, usually empty, for each permission of the browser that a
	// view needs.
	ResourcePermissions = apps.ResourcePermissions
	// ToolVisibility is a caller of a tool.
	ToolVisibility = apps.ToolVisibility
)

// The callers of a tool.
const (
	// ToolVisibilityApp is a view of the same server.
	ToolVisibilityApp = apps.ToolVisibilityApp
	// ToolVisibilityModel is the language model.
	ToolVisibilityModel = apps.ToolVisibilityModel
)

const (
	// metaKey is the key of the extension in the metadata of tools and resources.
	metaKey = "ui"
	// legacyKey is the key of the URI of a view in the metadata of the tools of early servers.
	legacyKey = "ui/resourceUri"
)

// toolMeta is the metadata of a tool. Unlike [apps.ToolMeta], it accepts callers that this
// version of the extension does not define.
type toolMeta struct {
	ResourceURI string           `json:"resourceUri"`
	Visibility  []ToolVisibility `json:"visibility"`
}

// resourceMetaOf returns the metadata of a view. It reports whether the metadata is present and valid.
func resourceMetaOf(m mcp.Meta) (*ResourceMeta, bool) {
	x, ok := apps.ResourceMetaOf(m)
	return x, ok && x != nil
}

// clientSettings returns the settings with which a client declares the extension. Some clients
// declare it as an experimental capability.
func clientSettings(c *mcp.ClientCapabilities) (*apps.ClientCapabilities, bool) {
	if settings, declared := apps.ClientSettings(c); declared {
		return settings, true
	}
	return mcp.Settings[apps.ClientCapabilities](c.Experimental, Name)
}
