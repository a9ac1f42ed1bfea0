package streamable

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/wire"
)

// protocolHeaders are those that a caller cannot set.
var protocolHeaders = []string{
	headerAccept, headerContentType, headerVersion, headerSession, headerMethod, headerName, headerLastEvent,
	"Connection", "Content-Encoding", "Content-Length", "Transfer-Encoding",
}

// firstWithVersion is the revision since which sessions name their revision in
// a header.
var firstWithVersion = mcp.Revision20250618

// sessionHeader says which session a request belongs to.
func (s clientSession) sessionHeader(h http.Header) {
	if s.id != "" {
		h[headerSession] = []string{s.id}
	}
	if s.revision.Index() >= firstWithVersion.Index() {
		h[headerVersion] = []string{s.revision.String()}
	}
}

// requestHeader repeats in headers what the body says, as revisions without a
// handshake have it.
func (c *Client) requestHeader(h http.Header, e jsonrpc.MessageInfo, data []byte) error {
	h[headerVersion] = []string{e.Revision.String()}
	h[headerMethod] = []string{e.Method}
	b := clientBody{name: e.Name, tools: e.Method == mcp.MethodCallTool && c.opts.ToolHeaders != nil}
	if info := mcp.MethodByName(e.Method); info != nil && (b.tools || b.name == "") {
		b.nameMember = info.NameMember
	}
	if b.named = b.name != ""; b.nameMember != "" {
		b.read(data)
	}
	if b.named {
		h[headerName] = []string{paramheader.Encode(b.name)}
	}
	if !b.tools {
		return nil
	}
	params, err := c.opts.ToolHeaders(b.name, b.arguments)
	if err != nil {
		return fmt.Errorf("headers of the call of tool %q: %w", b.name, err)
	}
	for name, values := range params {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return nil
}

// clientBody is what headers repeat of a message that we have written
// ourselves, and what a cancellation says.
type clientBody struct {
	wire.ReadOnly
	nameMember string // the member of the params to read name from
	tools      bool   // read the arguments, too

	name      string
	named     bool
	arguments json.RawMessage
	cancels   wire.RequestID
}

// read reads the message.
func (b *clientBody) read(data []byte) { _ = wire.Decode(data, &wire.Frame{Checked: true}, b) }

var (
	clientMessageMembers = wire.NewMembers("message", wire.Member{Name: "params", In: wire.Always})
	clientParamsMembers  = wire.NewMembers("params",
		wire.Member{Name: "arguments", In: wire.Always},
		wire.Member{Name: "name", In: wire.Always},
		wire.Member{Name: "requestId", In: wire.Always},
		wire.Member{Name: "uri", In: wire.Always},
	)
)

// DecodeJSON reads the members that count.
func (b *clientBody) DecodeJSON(d *wire.Decoder) {
	for m := d.Object(clientMessageMembers); m.Next(); {
		if m.Name != "params" {
			d.Skip()
			continue
		}
		for p := d.Object(clientParamsMembers); p.Next(); {
			b.param(d, p.Name)
		}
	}
}

func (b *clientBody) param(d *wire.Decoder, name string) {
	switch {
	case name == "":
		d.Skip()
	case name == b.nameMember && d.Kind() == '"':
		b.name, b.named = d.String(), true
	case name == "arguments" && b.tools:
		b.arguments = d.Raw()
	case name == "requestId" && b.nameMember == "":
		b.cancels = d.ID()
	default:
		d.Skip()
	}
}
