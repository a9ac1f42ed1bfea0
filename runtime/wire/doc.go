// Package wire reads and writes the JSON of the Model Context Protocol. The
// generated types use it. It contains a decoder that reads in one pass, an
// encoder that appends to a slice, the JSON-RPC message format, and request ids
// that preserve all digits. It uses no reflection and no intermediate maps.
//
// A type implements [Value] with the methods AppendJSON and DecodeJSON, and has a
// table of its members, see [NewMembers]. A [Frame] describes how to write or read
// one message, most importantly for which [Revision] of the protocol.
//
// This code writes a result for one revision and reads it again:
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
// # Rejected JSON
//
// The decoder accepts JSON according to RFC 8259. It is strict where the RFC leaves
// a choice. At every depth, in typed values and in raw values, it rejects:
//
//   - a member name that occurs twice in one object, compared after unescaping
//   - data after the value
//   - invalid UTF-8
//   - an unpaired surrogate escape
//   - a number beyond the range of float64
//   - nesting deeper than [Frame].MaxDepth
//   - a byte order mark
//
// Member names are case-sensitive.
//
// # Ownership of bytes
//
// Decoded values do not alias the input, except for Params and Result of a
// [Message]. The append functions do not retain the slice to which they append.
// Encoders and decoders are pooled, so a method must not retain the one it
// receives.
//
// Line feeds and carriage returns between the tokens of a raw value are replaced
// with spaces when it is read and when it is written. So no value can break a
// transport that sends one message per line. All other bytes of a raw value are
// preserved.
package wire
