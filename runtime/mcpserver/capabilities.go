package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// declare says what a server with a catalog can do: what the options say, what
// was declared before, and what there is now.
func (s *Server) declare(c *catalog) *mcp.ServerCapabilities {
	caps := s.opts.Capabilities
	if c.capabilities != nil {
		caps = *c.capabilities
	} else {
		caps.Extensions = s.extensions()
	}
	if caps.Tools == nil && len(c.tools) > 0 {
		caps.Tools = &mcp.ToolsCapability{ListChanged: true}
	}
	if caps.Resources == nil && len(c.resources)+len(c.templates) > 0 {
		caps.Resources = &mcp.ResourcesCapability{ListChanged: true, Subscribe: true}
	}
	if caps.Prompts == nil && len(c.prompts) > 0 {
		caps.Prompts = &mcp.PromptsCapability{ListChanged: true}
	}
	if caps.Completions == nil && (len(c.completers) > 0 || c.complete != nil) {
		caps.Completions = map[string]json.RawMessage{}
	}
	return &caps
}

// extensions are those of the capabilities and those of their own option. It
// panics on names that are none, and on settings that are no object.
func (s *Server) extensions() map[string]map[string]json.RawMessage {
	err := errors.Join(connection.CheckExtensions(s.opts.Extensions), connection.CheckExtensions(s.opts.Capabilities.Extensions))
	if err != nil {
		panic(fmt.Sprintf("mcpserver: %v", err))
	}
	if len(s.opts.Extensions) == 0 {
		return s.opts.Capabilities.Extensions
	}
	all := make(map[string]map[string]json.RawMessage)
	maps.Copy(all, s.opts.Capabilities.Extensions)
	for name, settings := range s.opts.Extensions {
		members := map[string]json.RawMessage{}
		if settings != nil {
			if err := unmarshal(settings, &members); err != nil || members == nil {
				panic(fmt.Sprintf("mcpserver: settings of extension %q: want an object: %s", name, settings))
			}
		}
		all[name] = members
	}
	return all
}

// unmarshal reads JSON that our own scanner accepts.
func unmarshal(data []byte, v any) error {
	if err := wire.Check(data, 0); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// announce adds the extensions to the answer of a handshake, except for tasks, which
// sessions do not have, and the cache hint to that of its successor.
func (s *Server) announce(answer wire.Value) {
	switch answer := answer.(type) {
	case *mcp.InitializeResult:
		experimental := maps.Clone(answer.Capabilities.Extensions)
		delete(experimental, tasks.Name)
		if len(experimental) > 0 {
			maps.Copy(experimental, answer.Capabilities.Experimental)
			answer.Capabilities.Experimental = experimental
		}
	case *mcp.DiscoverResult:
		s.hint(mcp.MethodDiscover, &answer.TTLMs, &answer.CacheScope)
	}
}

// hint says how the answer to a method may be kept, unless it says so itself.
func (s *Server) hint(method string, ttl *int64, scope *mcp.CacheScope) {
	hint, has := s.opts.CacheHints[method]
	if !has || *ttl != 0 || *scope != "" {
		return
	}
	*ttl = hint.TTL.Milliseconds()
	if hint.Public && s.opts.Filter == nil {
		*scope = mcp.CacheScopePublic
	}
}
