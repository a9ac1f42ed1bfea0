package apps

import (
	"encoding/json"

	"github.com/mcpwright/mcp/generated/mcp"
)

// ClientCapabilities are the settings with which a client declares the extension.
type ClientCapabilities struct {
	// MIMETypes are the types of views that the client can show. They contain [MIMEType].
	MIMETypes []string `json:"mimeTypes,omitempty"`
}

// ToolMeta is the value "ui" in the metadata of a tool.
type ToolMeta struct {
	// ResourceURI is the URI of the view that shows the calls of the tool. It is empty if no
	// view does.
	ResourceURI string `json:"resourceUri,omitempty"`
	// Visibility lists the callers of the tool. Nil means the model and the view.
	Visibility []ToolVisibility `json:"visibility,omitempty"`
}

// ToolVisibility is a caller of a tool.
type ToolVisibility string

// The callers of a tool.
const (
	// ToolVisibilityApp is a view of the same server.
	ToolVisibilityApp ToolVisibility = "app"
	// ToolVisibilityModel is the language model.
	ToolVisibilityModel ToolVisibility = "model"
)

// ResourceMeta is the value "ui" in the metadata of a view.
type ResourceMeta struct {
	// CSP lists the origins that the view may use. Nil means none.
	CSP *ResourceCSP `json:"csp,omitempty"`
	// Permissions are the permissions of the browser that the view needs. Nil means none. A
	// host may refuse them.
	Permissions *ResourcePermissions `json:"permissions,omitempty"`
	// Domain is the origin on which the host should show the view, in the form that the host
	// documents. Empty means an origin that the host chooses.
	Domain string `json:"domain,omitempty"`
	// PrefersBorder reports whether the host should draw a border and a background.
	PrefersBorder bool `json:"prefersBorder,omitempty"`
}

// ResourceCSP lists the origins that a view may use, such as "https://cdn.example.com". The
// host part may begin with "*.". Everything else is blocked.
type ResourceCSP struct {
	// ConnectDomains are the origins of network requests.
	ConnectDomains []string `json:"connectDomains,omitempty"`
	// ResourceDomains are the origins of scripts, styles, images, fonts and media.
	ResourceDomains []string `json:"resourceDomains,omitempty"`
	// FrameDomains are the origins of frames within the view.
	FrameDomains []string `json:"frameDomains,omitempty"`
	// BaseURIDomains are the origins of the base address of the document.
	BaseURIDomains []string `json:"baseUriDomains,omitempty"`
}

// ResourcePermissions are permissions of the browser. A view needs a permission if its object
// is not nil.
type ResourcePermissions struct {
	Camera         map[string]json.RawMessage `json:"camera,omitzero"`
	Microphone     map[string]json.RawMessage `json:"microphone,omitzero"`
	Geolocation    map[string]json.RawMessage `json:"geolocation,omitzero"`
	ClipboardWrite map[string]json.RawMessage `json:"clipboardWrite,omitzero"`
}

// metaKey is the key of the extension in metadata.
const metaKey = "ui"

// toolMetaOf returns the value "ui" of metadata. It reports whether there is a valid one.
func toolMetaOf(m mcp.Meta) (*ToolMeta, bool) {
	x, ok := mcp.Get[*ToolMeta](m, metaKey)
	return x, ok && x != nil
}

func setToolMeta(m *mcp.Meta, x *ToolMeta) error { return m.Set(metaKey, x) }

// resourceMetaOf returns the value "ui" of metadata. It reports whether there is a valid one.
func resourceMetaOf(m mcp.Meta) (*ResourceMeta, bool) {
	x, ok := mcp.Get[*ResourceMeta](m, metaKey)
	return x, ok && x != nil
}

func setResourceMeta(m *mcp.Meta, x *ResourceMeta) error { return m.Set(metaKey, x) }

func clientSettings(c *mcp.ClientCapabilities) (*ClientCapabilities, bool) {
	members, declared := c.Extensions[Name]
	if !declared {
		members, declared = c.Experimental[Name]
	}
	if !declared {
		return nil, false
	}
	text, err := json.Marshal(members)
	settings := new(ClientCapabilities)
	return settings, err == nil && json.Unmarshal(text, settings) == nil
}

func setClientSettings(c *mcp.ClientCapabilities, x *ClientCapabilities) error {
	types, err := json.Marshal(x.MIMETypes)
	if err != nil {
		return err
	}
	if c.Extensions == nil {
		c.Extensions = make(map[string]map[string]json.RawMessage)
	}
	c.Extensions[Name] = map[string]json.RawMessage{"mimeTypes": types}
	return nil
}
