package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/capabilities"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// New returns a server without registrations. Nil options mean the defaults. New panics on
// invalid options.
func New(info mcp.Implementation, opts *Options) *Server {
	s := &Server{info: info}
	if opts != nil {
		s.opts = *opts
	}
	s.opts.complete()
	s.rules = s.newRules()
	s.enableTasks()
	s.subscribers.init(&s.opts)
	c := new(catalog)
	c.capabilities = s.declareCapabilities(c)
	s.catalog.Store(c)
	s.route()
	return s
}

// route registers the methods of the protocol.
func (s *Server) route() {
	handleValue(&s.mux, s.listTools)
	handleValue(&s.mux, s.callTool)
	handleValue(&s.mux, s.listResources)
	handleValue(&s.mux, s.listTemplates)
	mcp.HandleReadResource(&s.mux, s.readResource)
	handleValue(&s.mux, s.listPrompts)
	mcp.HandleGetPrompt(&s.mux, s.getPrompt)
	mcp.HandleComplete(&s.mux, s.completeArgument)
	mcp.HandleSubscribe(&s.mux, s.subscribe)
	mcp.HandleUnsubscribe(&s.mux, s.unsubscribe)
	mcp.HandleSubscriptionsListen(&s.mux, s.listen)
}

// handleValue registers a handler whose result need not have the result type of the request: it may
// have been encoded before.
func handleValue[Req any, P interface {
	*Req
	peer.Message
}](m *peer.Mux, h func(context.Context, P) (wire.Value, error)) {
	m.Add(peer.Route{
		New:   func() peer.Message { return P(new(Req)) },
		Serve: func(ctx context.Context, req peer.Message) (wire.Value, error) { return h(ctx, req.(P)) },
	})
}

// newRules returns the configuration of questions. It panics on invalid options.
func (s *Server) newRules() *rounds.Rules {
	o := &s.opts.Questions
	rules, err := rounds.New(rounds.Options{
		Keys: o.SealKeys, Expiry: o.RoundTTL, MaxRounds: o.MaxRounds, MaxState: o.MaxState,
		ServerName: s.info.Name, Logger: s.opts.Logger, Pick: s.pick, IsStateLocal: s.isStateLocal,
	})
	if err != nil {
		panic(fmt.Sprintf("mcpserver: %v", err))
	}
	return rules
}

// extensions returns the declared extensions, from both options. It panics on an invalid name,
// and on settings that are not an object.
func (s *Server) extensions() map[string]map[string]json.RawMessage {
	err := errors.Join(capabilities.CheckExtensions(s.opts.Extensions), capabilities.CheckExtensions(s.opts.Capabilities.Extensions))
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
				panic(fmt.Sprintf("mcpserver: settings of extension %q are not a JSON object: %s", name, settings))
			}
		}
		all[name] = members
	}
	return all
}

// unmarshal decodes JSON after the strict checks of package wire.
func unmarshal(data []byte, v any) error {
	if err := wire.Check(data, 0); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
