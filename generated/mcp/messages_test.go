package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// A message is a request or a notification.
type message interface {
	wire.Value
	wire.Params
	Method() string
}

// messageForms returns the subjects that are messages.
func messageForms() (list []*subject) {
	for _, s := range subjects() {
		if _, ok := s.fresh().(message); ok {
			list = append(list, s)
		}
	}
	return list
}

// appendMessage encodes a message.
func appendMessage(f *wire.Frame, m message) ([]byte, error) {
	if _, ok := m.(interface{ IsNotification() }); ok {
		return wire.AppendNotification(nil, f, m.Method(), m)
	}
	return wire.AppendRequest(nil, f, wire.IntID(1), m.Method(), m)
}

// withFraming returns the schema of a revision with the members jsonrpc and id.
func withFraming(r wire.Revision) *schemaFile {
	return loadSchema(r, patches[1:])
}

// TestMessagesAreValid encodes the smallest and the largest value of every message, and
// validates the whole message.
func TestMessagesAreValid(t *testing.T) {
	files := map[wire.Revision]*schemaFile{}
	for _, r := range revisions() {
		files[r] = withFraming(r)
	}
	for _, s := range messageForms() {
		t.Run(s.String(), func(t *testing.T) {
			for _, doc := range []any{s.shape.smallest(), s.shape.largest(variedDepth)} {
				v, err := s.decode(render(doc, sorted))
				require.NoError(t, err)
				out, err := appendMessage(s.frame(), v.(message))
				require.NoError(t, err)
				requireReadsBack(t, s, out)
				require.NoError(t, files[s.file.revision].validator.validateText(s.pointer, out), "%s", out)
			}
		})
	}
}

// requireReadsBack decodes a message in one pass and in two passes, and encodes it again.
func requireReadsBack(t *testing.T, s *subject, text []byte) {
	t.Helper()
	once := s.fresh().(message)
	m, err := wire.ReadMessageInto(text, s.frame(), func(*wire.Message) wire.Params { return once })
	require.NoError(t, err)
	require.Equal(t, once.Method(), m.Method)
	out, err := appendMessage(s.frame(), once)
	require.NoError(t, err)
	require.Equal(t, string(text), string(out))

	m, err = wire.ReadMessage(text, s.frame())
	require.NoError(t, err)
	twice := s.fresh().(message)
	if m.Params != nil {
		checked := &wire.Frame{Revision: s.file.revision, Checked: true}
		require.NoError(t, wire.DecodeParams(m.Params, checked, twice))
	}
	require.Equal(t, once, twice)
}
