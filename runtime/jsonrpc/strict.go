package jsonrpc

import (
	"bytes"
	"encoding/json"

	"github.com/mcpwright/mcp/runtime/wire"
)

// written returns params as they would come from a wire: written by one who is
// trusted to know how, read by one who is not.
func written(f *wire.Frame, p wire.Params) (json.RawMessage, error) {
	buf := NewBuffer()
	defer buf.Free()
	var err error
	if buf.Bytes, err = wire.AppendParams(buf.Bytes, f, p); err != nil {
		return nil, err
	}
	if err := wire.Check(buf.Bytes, 0); err != nil {
		return nil, err
	}
	return bytes.Clone(buf.Bytes), nil
}
