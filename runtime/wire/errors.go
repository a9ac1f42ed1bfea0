package wire

import (
	"fmt"
	"strings"
)

// DecodeError tells why bytes were refused, and where.
type DecodeError struct {
	Pointer string // JSON pointer (RFC 6901) from the start of the document; "" is the whole of it
	Offset  int    // in bytes, from the start of the document
	Syntax  bool   // the bytes are no acceptable JSON; otherwise the JSON has the wrong shape
	Err     error
}

// Error implements error.
func (e *DecodeError) Error() string {
	if e.Syntax {
		return fmt.Sprintf("decode%s: %v at byte %d", place(e.Pointer), e.Err, e.Offset)
	}
	return fmt.Sprintf("decode%s: %v", place(e.Pointer), e.Err)
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// EncodeError tells why a value could not be written, and where in the output.
type EncodeError struct {
	Pointer  string // JSON pointer (RFC 6901) into what would have been written
	Revision Revision
	Err      error
}

// Error implements error.
func (e *EncodeError) Error() string {
	if e.Revision == (Revision{}) {
		return fmt.Sprintf("encode%s: %v", place(e.Pointer), e.Err)
	}
	return fmt.Sprintf("encode%s for %v: %v", place(e.Pointer), e.Revision, e.Err)
}

// Unwrap returns Err.
func (e *EncodeError) Unwrap() error { return e.Err }

// place is a pointer as error texts show it: names come from the peer and may
// be of any length.
func place(pointer string) string {
	if pointer == "" {
		return ""
	}
	return " " + clip(pointer)
}

// clip shortens text from a peer for an error text.
func clip(s string) string {
	const longest = 200
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
