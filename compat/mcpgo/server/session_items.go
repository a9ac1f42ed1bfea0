package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// SessionWithTools is a session that can have tools of its own.
type SessionWithTools interface {
	ClientSession
	// GetSessionTools returns the tools by name. The map must not be changed.
	GetSessionTools() map[string]ServerTool
	// SetSessionTools replaces the tools.
	SetSessionTools(tools map[string]ServerTool)
}

// SessionWithResources is a session that can have resources of its own.
type SessionWithResources interface {
	ClientSession
	// GetSessionResources returns the resources by URI. The map must not be changed.
	GetSessionResources() map[string]ServerResource
	// SetSessionResources replaces the resources.
	SetSessionResources(resources map[string]ServerResource)
}

// SessionWithResourceTemplates is a session that can have resource templates of its own.
type SessionWithResourceTemplates interface {
	ClientSession
	// GetSessionResourceTemplates returns the templates by their text. The map must not be changed.
	GetSessionResourceTemplates() map[string]ServerResourceTemplate
	// SetSessionResourceTemplates replaces the templates.
	SetSessionResourceTemplates(templates map[string]ServerResourceTemplate)
}

func (c *clientSession) GetSessionTools() map[string]ServerTool {
	return maps.Clone(get(&c.mu, &c.tools))
}

func (c *clientSession) SetSessionTools(tools map[string]ServerTool) {
	set(&c.mu, &c.tools, maps.Clone(tools))
}

func (c *clientSession) GetSessionResources() map[string]ServerResource {
	return maps.Clone(get(&c.mu, &c.resources))
}

func (c *clientSession) SetSessionResources(resources map[string]ServerResource) {
	set(&c.mu, &c.resources, maps.Clone(resources))
}

func (c *clientSession) GetSessionResourceTemplates() map[string]ServerResourceTemplate {
	return maps.Clone(get(&c.mu, &c.templates))
}

func (c *clientSession) SetSessionResourceTemplates(templates map[string]ServerResourceTemplate) {
	set(&c.mu, &c.templates, maps.Clone(templates))
}

// AddSessionTool adds a tool that only one session has; see [MCPServer.AddSessionTools].
func (s *MCPServer) AddSessionTool(sessionID string, tool mcp.Tool, handler ToolHandlerFunc) error {
	return s.AddSessionTools(sessionID, ServerTool{tool, handler})
}

// AddSessionTools adds tools that only one session has. They replace tools of the server with the
// same names, and the client is notified. Their arguments are not validated.
func (s *MCPServer) AddSessionTools(sessionID string, tools ...ServerTool) error {
	return changeItems(s, toolItems, sessionID, func(all map[string]ServerTool) {
		for _, tool := range tools {
			all[tool.Tool.Name] = tool
		}
	})
}

// DeleteSessionTools removes tools of a session.
func (s *MCPServer) DeleteSessionTools(sessionID string, names ...string) error {
	return changeItems(s, toolItems, sessionID, func(all map[string]ServerTool) {
		for _, name := range names {
			delete(all, name)
		}
	})
}

// AddSessionResource adds a resource that only one session has; see
// [MCPServer.AddSessionResources].
func (s *MCPServer) AddSessionResource(sessionID string, resource mcp.Resource, handler ResourceHandlerFunc) error {
	return s.AddSessionResources(sessionID, ServerResource{resource, handler})
}

// AddSessionResources adds resources that only one session has. They replace resources of the server
// with the same URIs, and the client is notified. A server without resources of its own needs
// [WithResourceCapabilities].
func (s *MCPServer) AddSessionResources(sessionID string, resources ...ServerResource) error {
	for _, r := range resources {
		if r.Resource.URI == "" {
			return errNoURI
		}
	}
	return changeItems(s, resourceItems, sessionID, func(all map[string]ServerResource) {
		for _, r := range resources {
			all[r.Resource.URI] = r
		}
	})
}

var errNoURI = errors.New("add resource to session: the URI is empty")

// DeleteSessionResources removes resources of a session.
func (s *MCPServer) DeleteSessionResources(sessionID string, uris ...string) error {
	return changeItems(s, resourceItems, sessionID, func(all map[string]ServerResource) {
		for _, uri := range uris {
			delete(all, uri)
		}
	})
}

// AddSessionResourceTemplate adds a resource template that only one session has; see
// [MCPServer.AddSessionResourceTemplates].
func (s *MCPServer) AddSessionResourceTemplate(sessionID string, template mcp.ResourceTemplate, handler ResourceTemplateHandlerFunc) error {
	return s.AddSessionResourceTemplates(sessionID, ServerResourceTemplate{template, handler})
}

// AddSessionResourceTemplates adds resource templates that only one session has. They replace
// templates of the server with the same text, and the client is notified. URIs match as with
// [MCPServer.AddResourceTemplate], first the templates of the session. A server without resources of
// its own needs [WithResourceCapabilities].
func (s *MCPServer) AddSessionResourceTemplates(sessionID string, templates ...ServerResourceTemplate) error {
	check := mcpserver.New(kit.Implementation{Name: "templates", Version: "0"}, nil)
	for _, t := range templates {
		if err := addTemplate(check, t, func(context.Context, *kit.ReadResourceRequest, mcpserver.Variables) (*kit.ReadResourceResult, error) {
			return nil, nil
		}); err != nil {
			return fmt.Errorf("add resource template %q to session: %w", t.Template.Name, err)
		}
	}
	return changeItems(s, templateItems, sessionID, func(all map[string]ServerResourceTemplate) {
		for _, t := range templates {
			all[t.Template.URITemplate.Raw()] = t
		}
	})
}

// DeleteSessionResourceTemplates removes resource templates of a session.
func (s *MCPServer) DeleteSessionResourceTemplates(sessionID string, uriTemplates ...string) error {
	return changeItems(s, templateItems, sessionID, func(all map[string]ServerResourceTemplate) {
		for _, text := range uriTemplates {
			delete(all, text)
		}
	})
}

// sessionItems are the items of one kind that sessions of type S can have.
type sessionItems[S ClientSession, T any] struct {
	get         func(S) map[string]T
	set         func(S, map[string]T)
	unsupported error  // the error for sessions of other types
	changed     string // the method of the notification
}

var (
	toolItems = sessionItems[SessionWithTools, ServerTool]{
		SessionWithTools.GetSessionTools, SessionWithTools.SetSessionTools,
		ErrSessionDoesNotSupportTools, mcp.MethodNotificationToolsListChanged,
	}
	resourceItems = sessionItems[SessionWithResources, ServerResource]{
		SessionWithResources.GetSessionResources, SessionWithResources.SetSessionResources,
		ErrSessionDoesNotSupportResources, mcp.MethodNotificationResourcesListChanged,
	}
	templateItems = sessionItems[SessionWithResourceTemplates, ServerResourceTemplate]{
		SessionWithResourceTemplates.GetSessionResourceTemplates, SessionWithResourceTemplates.SetSessionResourceTemplates,
		ErrSessionDoesNotSupportResourceTemplates, mcp.MethodNotificationResourcesListChanged,
	}
)

// of returns the items of a session, which may be nil.
func (i sessionItems[S, T]) of(session ClientSession) map[string]T {
	if owner, ok := session.(S); ok {
		return i.get(owner)
	}
	return nil
}

// changeItems changes the items of a session, and notifies its client.
func changeItems[S ClientSession, T any](s *MCPServer, items sessionItems[S, T], id string, change func(map[string]T)) error {
	session, err := s.session(id)
	if err != nil {
		return err
	}
	owner, ok := session.(S)
	if !ok {
		return items.unsupported
	}
	s.changingItems.Lock() // makes the change atomic
	all := maps.Clone(items.get(owner))
	if all == nil {
		all = map[string]T{}
	}
	change(all)
	items.set(owner, all)
	s.changingItems.Unlock()
	s.notifyChanged(session, items.changed)
	return nil
}

// notifyChanged notifies the client of a session that a list has changed.
func (s *MCPServer) notifyChanged(session ClientSession, method string) {
	if session.Initialized() {
		_ = s.SendNotificationToSpecificClient(session.SessionID(), method, nil) // a full queue: the client reads slowly
	}
}

// templateMatch is the result of [MCPServer.matchTemplate]. The context of the request has it.
type templateMatch struct {
	template string // or empty
	vars     mcpserver.Variables
}

type templateMatchKey struct{}

// matchTemplate returns the resource template that matches a URI and the values of its variables, or
// nil. The rules are the same as for the templates of a server, because it asks a server that has only
// these templates.
func (s *MCPServer) matchTemplate(templates map[string]ServerResourceTemplate, uri string) (*ServerResourceTemplate, mcpserver.Variables, error) {
	matcher, err := s.matcher(slices.Sorted(maps.Keys(templates)))
	if err != nil {
		return nil, nil, err
	}
	var match templateMatch
	ctx := context.WithValue(context.Background(), templateMatchKey{}, &match)
	conn := connection.NewForRequest(kit.Revision20251125, nil, nil, nil)
	defer conn.Close(ctx)
	req := &kit.ReadResourceRequest{URI: uri}
	in := &peer.Inbound{Method: req.Method(), ID: wire.IntID(1), Message: req, Frame: &wire.Frame{Revision: kit.Revision20251125}}
	_, _ = matcher.Dispatcher().Serve(ctx, conn, in) // the error means that no template matches
	if t, ok := templates[match.template]; ok {
		return &t, match.vars, nil
	}
	return nil, nil, nil
}

// maxMatchers limits the number of servers in MCPServer.matchers.
const maxMatchers = 100

// matcher returns a server that has only the given templates, and stores the match in the context of a
// request. Sessions with the same templates share it.
func (s *MCPServer) matcher(templates []string) (*mcpserver.Server, error) {
	key := strings.Join(templates, "\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	if matcher := s.matchers[key]; matcher != nil {
		return matcher, nil
	}
	matcher := mcpserver.New(kit.Implementation{Name: "templates", Version: "0"}, nil)
	for _, text := range templates {
		err := matcher.TryAddResourceTemplate(&kit.ResourceTemplate{URITemplate: text},
			func(ctx context.Context, _ *kit.ReadResourceRequest, vars mcpserver.Variables) (*kit.ReadResourceResult, error) {
				*ctx.Value(templateMatchKey{}).(*templateMatch) = templateMatch{text, vars}
				return &kit.ReadResourceResult{Contents: []kit.ResourceContents{}}, nil
			})
		if err != nil {
			return nil, err
		}
	}
	if len(s.matchers) >= maxMatchers {
		clear(s.matchers)
	}
	s.matchers[key] = matcher
	return matcher, nil
}

// addTemplate adds a resource template to a server of the kit.
func addTemplate(s *mcpserver.Server, t ServerResourceTemplate, read mcpserver.ResourceTemplateHandler) error {
	if _, err := templateText(t.Template); err != nil {
		return err
	}
	definition := new(kit.ResourceTemplate)
	if err := toKit(t.Template, definition); err != nil {
		return err
	}
	return s.TryAddResourceTemplate(definition, read)
}

// templateText returns the text of a template.
func templateText(t mcp.ResourceTemplate) (string, error) {
	if t.URITemplate == nil || t.URITemplate.Template == nil {
		return "", errors.New("the template has no URITemplate")
	}
	return t.URITemplate.Raw(), nil
}
