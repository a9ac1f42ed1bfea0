package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// DecodeError describes why JSON was rejected, and at which position.
type DecodeError struct {
	Pointer string // JSON pointer (RFC 6901) to the rejected value; "" is the whole document
	Offset  int    // byte offset from the start of the document
	Syntax  bool   // true if the bytes are not acceptable JSON, false if the JSON has the wrong shape
	Err     error  // the cause
}

// Error implements error.
func (e *DecodeError) Error() string {
	if e.Syntax {
		return fmt.Sprintf("decode%s: %v at byte %d", pointerText(e.Pointer), e.Err, e.Offset)
	}
	return fmt.Sprintf("decode%s: %v", pointerText(e.Pointer), e.Err)
}

// Unwrap returns Err.
func (e *DecodeError) Unwrap() error { return e.Err }

// EncodeError describes why a value could not be written, and at which position of
// the output.
type EncodeError struct {
	Pointer  string   // JSON pointer (RFC 6901) into the intended output
	Revision Revision // the revision that was written; zero for the all-revisions form
	Err      error    // the cause
}

// Error implements error.
func (e *EncodeError) Error() string {
	if e.Revision == (Revision{}) {
		return fmt.Sprintf("encode%s: %v", pointerText(e.Pointer), e.Err)
	}
	return fmt.Sprintf("encode%s for %v: %v", pointerText(e.Pointer), e.Revision, e.Err)
}

// Unwrap returns Err.
func (e *EncodeError) Unwrap() error { return e.Err }

// pointerText returns a pointer as error texts show it. Long pointers are cut
// because their names come from the peer.
func pointerText(pointer string) string {
	if pointer == "" {
		return ""
	}
	return " " + clip(pointer)
}

// clip shortens text from a peer for use in an error text.
func clip(s string) string {
	const longest = 200
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}

// pointerAt returns the JSON pointer of the position at the end of prefix, which
// is the beginning of a document. The position is a value that comes next or that
// has just ended. Reading does not track the position; pointerAt computes it once,
// after a failure.
func pointerAt(prefix []byte) string {
	var p strings.Builder
	for _, s := range pathAt(prefix) {
		switch {
		case !s.object:
			p.WriteByte('/')
			p.WriteString(strconv.Itoa(s.index))
		case s.named:
			p.WriteByte('/')
			pointerEscaper.WriteString(&p, strings.ToValidUTF8(string(appendUnescaped(nil, s.key)), "\uFFFD"))
		}
	}
	return p.String()
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// step is one level of nesting on the path to a position in a document.
type step struct {
	object bool
	named  bool   // for an object: key contains the name of a member
	key    []byte // the bytes between the quotes, still escaped
	index  int    // for an array: the index of the element
}

// pathAt returns the path to the position at the end of prefix. The prefix may end
// inside a token. An object that is still being written begins with a comma, until
// [CloseObject] replaces it with a brace. So a comma where a value is due opens an
// object.
func pathAt(prefix []byte) []step {
	var path []step
	due := true // whether a value comes next
	for i := 0; i < len(prefix); {
		switch c := prefix[i]; {
		case c == '"':
			end := skipText(prefix, i)
			if end < 0 {
				return path
			}
			if n := len(path) - 1; !due && n >= 0 && path[n].object {
				path[n].named, path[n].key = true, prefix[i+1:end-1]
			}
			due = false
			i = end
			continue
		case c == '{', c == ',' && due:
			path = append(path, step{object: true})
			due = false
		case c == '[':
			path = append(path, step{})
			due = true
		case c == ':':
			due = true
		case c == ',':
			due = advance(path)
		case c == '}', c == ']':
			path = path[:max(0, len(path)-1)]
			due = false
		case !isSpace(c):
			due = false
		}
		i++
	}
	return path
}

// advance goes to the next member or element of the innermost level. It reports
// whether a value comes next.
func advance(path []step) bool {
	if len(path) == 0 {
		return false
	}
	s := &path[len(path)-1]
	s.named = false
	s.index++
	return !s.object
}
