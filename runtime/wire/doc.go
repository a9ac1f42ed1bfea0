// Package wire reads and writes the JSON of the Model Context Protocol. It is
// what the generated types stand on: a scanner that decodes in one pass, an
// encoder that appends, the JSON-RPC envelope, and request ids that keep every
// digit. There is no reflection and no intermediate map.
//
// A type describes itself with two methods, AppendJSON and DecodeJSON (see
// [Value]), and a table of its members (see [NewMembers]). How one message is
// written or read, most of all for which protocol revision, is told by a
// [Frame].
//
// A result as one revision has it, and back:
//
//	frame := &wire.Frame{Revision: mcp.Revision20241105}
//	line, err := wire.AppendResult(nil, frame, wire.IntID(1), &mcp.CallToolResult{Content: content})
//	if err != nil {
//		return err
//	}
//	message, err := wire.ReadMessage(line, frame)
//	if err != nil {
//		return err
//	}
//	var res mcp.CallToolResult
//	err = wire.Decode(message.Result, frame, &res)
//
// # What is refused
//
// The scanner reads RFC 8259 and is strict where that text leaves a choice.
// At every depth, in typed and in raw values alike, it refuses: a member name
// that occurs twice in one object (compared after unescaping), data after the
// value, invalid UTF-8, a surrogate escape without its partner, a number beyond
// the range of float64, more nesting than [Frame].MaxDepth, and a byte order
// mark. Names match exactly: another case is another name.
//
// # Who owns the bytes
//
// Decoded values never alias the input, with the one exception of the Params
// and Result spans of a [Message]. The append functions never keep the slice
// they append to. Encoders and decoders are pooled: a method that receives one
// must not keep it.
//
// Line feeds and carriage returns between the tokens of a raw value become
// spaces, in both directions, so that no value can break a line-framed
// transport. All other bytes of a raw value are kept.
package wire
