package streamable

import (
	"bytes"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/progress"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// progressToken returns the progress token of a request, or the zero value.
func progressToken(m *wire.Message) wire.ProgressToken {
	if request, ok := m.Into.(interface{ RequestMeta() *mcp.RequestMeta }); ok {
		if meta := request.RequestMeta(); meta != nil {
			return meta.ProgressToken
		}
	}
	if !mayHaveMeta(m.Params) {
		return wire.ProgressToken{}
	}
	return progress.Token(m.Params) // a type without RequestMeta
}

// messageName returns the name of the tool, prompt or resource that a message is about, or "".
func messageName(m peer.Message) string {
	if m, ok := m.(peer.Named); ok {
		return m.NameMember()
	}
	return ""
}

// mayHaveMeta reports whether params may contain message metadata. It also returns true
// if the name "_meta" may be written with escapes.
func mayHaveMeta(params []byte) bool {
	if bytes.IndexByte(params, '\\') >= 0 && bytes.Contains(params, []byte(`\u`)) {
		return true
	}
	return bytes.IndexByte(params, '_') >= 0 && bytes.Contains(params, []byte(`"_meta"`))
}

// namesOtherRevision reports whether the metadata of params contain a stateless or
// unknown revision. Such requests belong to no session.
func namesOtherRevision(params []byte) bool {
	name, found := revisions.InMetadata(params)
	if !found {
		return false
	}
	r, known := mcp.ParseRevision(name)
	return !known || !revisions.Handshake(r)
}

// looksLikeResponse reports whether JSON that is no valid message may be a response.
func looksLikeResponse(body []byte) bool {
	_, method := wire.Peek(body, "method")
	_, result := wire.Peek(body, "result")
	_, failure := wire.Peek(body, "error")
	return method == 0 && result|failure != 0
}

// isRequest reports whether a body is a single request. It returns false for batches.
func isRequest(body []byte) bool {
	m, err := wire.ReadMessage(body, nil)
	return err == nil && m.Method != "" && !m.ID.IsZero()
}
