// Package batch reads and writes JSON-RPC batches: arrays of messages.
package batch

import (
	"encoding/json"

	"github.com/mcpwright/mcp/runtime/wire"
)

// MaxMessages limits the messages of a batch.
const MaxMessages = 100

// Read returns the messages of a batch. They are not validated, and share no memory with data.
func Read(data []byte) ([]json.RawMessage, error) {
	var m messages
	if err := wire.Decode(data, nil, &m); err != nil {
		return nil, err
	}
	return m, nil
}

// Append appends a response to the responses of a batch. The first argument is empty before the first response. The
// result lacks the bracket that ends the array.
func Append(responses, response []byte) []byte {
	separator := byte(',')
	if len(responses) == 0 {
		separator = '['
	}
	return append(append(responses, separator), response...)
}

// messages implements [wire.Value] for reading only.
type messages []json.RawMessage

func (*messages) AppendJSON(b []byte, e *wire.Encoder) []byte { return e.Missing(b, "a batch") }

func (m *messages) DecodeJSON(d *wire.Decoder) {
	n := 0
	*m = wire.List(d, func(d *wire.Decoder) json.RawMessage {
		if n++; n > MaxMessages {
			d.MaxItems(n, MaxMessages)
			return nil
		}
		return d.Raw()
	})
}
