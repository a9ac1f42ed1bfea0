package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// shoutExtension is an extension with one request, in both directions.
const shoutExtension = "com.example/shout"

type shout struct{ mcp.EmptyResult }

func (*shout) Method() string                                { return "example/shout" }
func (*shout) Extension() string                             { return shoutExtension }
func (*shout) NewResult() *mcp.EmptyResult                   { return new(mcp.EmptyResult) }
func (*shout) AppendParams(b []byte, _ *wire.Encoder) []byte { return append(b, "{}"...) }
func (*shout) DecodeParams(d *wire.Decoder)                  { d.Skip() }

var shoutSettings = map[string]map[string]json.RawMessage{shoutExtension: {"loud": json.RawMessage("true")}}

// newShoutServer returns a server with the extension. It sends the extensions of each caller.
func newShoutServer() (s *mcpserver.Server, declared chan map[string]map[string]json.RawMessage) {
	declared = make(chan map[string]map[string]json.RawMessage, 1)
	s = mcpserver.New(mcp.Implementation{Name: "s", Version: "1"}, &mcpserver.Options{
		Extensions: map[string]json.RawMessage{shoutExtension: json.RawMessage(`{"loud":true}`)},
	})
	mcpserver.Handle(s, func(ctx context.Context, _ *shout) (*mcp.EmptyResult, error) {
		declared <- mcp.SessionFromContext(ctx).ClientCapabilities().Extensions
		return &mcp.EmptyResult{}, nil
	})
	return s, declared
}

// overEveryWay runs a test with a server over each kind of transport, in every revision.
func overEveryWay(t *testing.T, test func(t *testing.T, reach func(*mcpserver.Server) mcpclient.Endpoint, r wire.Revision)) {
	for name, reach := range map[string]func(*testing.T, *mcpserver.Server) mcpclient.Endpoint{
		"in process": func(_ *testing.T, s *mcpserver.Server) mcpclient.Endpoint { return mcpclient.InProcess(s) },
		"pipe":       overPipe,
		"HTTP":       func(t *testing.T, s *mcpserver.Server) mcpclient.Endpoint { return overHTTP(t, s, nil) },
	} {
		for _, info := range mcp.Revisions {
			t.Run(fmt.Sprintf("%s/%v", name, info.Revision), func(t *testing.T) {
				test(t, func(s *mcpserver.Server) mcpclient.Endpoint { return reach(t, s) }, info.Revision)
			})
		}
	}
}

func TestExtensionsInEveryRevision(t *testing.T) {
	overEveryWay(t, func(t *testing.T, reach func(*mcpserver.Server) mcpclient.Endpoint, r wire.Revision) {
		s, declared := newShoutServer()
		c := new(user).connect(t, reach(s), r, func(o *mcpclient.Options) { o.Capabilities.Extensions = shoutSettings })
		require.Equal(t, shoutSettings, c.ServerCapabilities().Extensions)
		require.Empty(t, c.ServerCapabilities().Experimental)
		require.Empty(t, c.ServerCapabilities().Extra)
		_, err := peer.SendRequest(t.Context(), c, &shout{})
		require.NoError(t, err)
		require.Equal(t, shoutSettings, <-declared)
	})
}

func TestUndeclaredExtensionIsRefusedInEveryRevision(t *testing.T) {
	overEveryWay(t, func(t *testing.T, reach func(*mcpserver.Server) mcpclient.Endpoint, r wire.Revision) {
		var lack *connection.CapabilityError
		plain := mcpserver.New(mcp.Implementation{Name: "s", Version: "1"}, nil)
		declares := new(user).connect(t, reach(plain), r, func(o *mcpclient.Options) { o.Capabilities.Extensions = shoutSettings })
		_, err := peer.SendRequest(t.Context(), declares, &shout{})
		require.ErrorAs(t, err, &lack, "the server did not declare it")

		s, declared := newShoutServer()
		_, err = peer.SendRequest(t.Context(), new(user).connect(t, reach(s), r), &shout{})
		var refused *peer.Error
		require.ErrorAs(t, err, &refused, "the client did not declare it")
		require.Empty(t, declared)
	})
}

// Programs built with earlier versions of this module and some others declare extensions as
// experimental capabilities.
func TestExtensionsDeclaredAsExperimental(t *testing.T) {
	for _, declaration := range []string{
		`{"extensions":{"com.example/shout":{}}}`,
		`{"experimental":{"com.example/shout":{}}}`,
		`{"extensions":{"com.example/shout":{},"com.example/odd":true}}`,
	} {
		s, declared := newShoutServer()
		c := dialWith(t, s, "2025-11-25", declaration)
		c.write(`{"jsonrpc":"2.0","id":1,"method":"example/shout"}`)
		res := c.read()
		require.Nil(t, res.Error, declaration)
		<-declared
	}
	s, _ := newShoutServer()
	for _, declaration := range []string{`{}`, `{"extensions":{"com.example/other":{}}}`, `{"extensions":[]}`, `{"extensions":null}`} {
		c := dialWith(t, s, "2025-11-25", declaration)
		c.write(`{"jsonrpc":"2.0","id":1,"method":"example/shout"}`)
		require.NotNil(t, c.read().Error, declaration)
	}
}
