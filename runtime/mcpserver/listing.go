package mcpserver

import (
	"bytes"
	"context"
	"encoding/base64"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// listed is something registered that lists show.
type listed interface {
	// shown is what a list of the revision has of it.
	shown(r wire.Revision) wire.Value
	// text is that as JSON, nil where it was not written down.
	text(r wire.Revision) []byte
}

// listing is a page of a list as an answer on a wire: what is registered is
// copied from where it has been written down, never written again. Whoever reads
// the same page in the same revision gets the same bytes, and nobody anything that
// is not on it: a page is put together for its caller.
type listing[T any, P interface {
	*T
	listed
}] struct {
	wire.Value        // the answer without the items
	empty      string // the member for them, as it is there
	items      shelf[T]
}

func newListing[T any, P interface {
	*T
	listed
}](answer wire.Value, empty string, items shelf[T]) wire.Value {
	return &listing[T, P]{answer, empty, items}
}

// AppendJSON implements [wire.Value].
func (l *listing[T, P]) AppendJSON(b []byte, e *wire.Encoder) []byte {
	e.Forward(l, l.Value)
	start := len(b)
	b = l.Value.AppendJSON(b, e)
	i := bytes.Index(b[start:], []byte(l.empty))
	if i < 0 {
		return b // there was an error
	}
	var room [512]byte
	end := start + i + len(l.empty) - len("]")
	rest := append(room[:0], b[end:]...)
	return append(l.appendItems(b[:end], e), rest...)
}

func (l *listing[T, P]) appendItems(b []byte, e *wire.Encoder) []byte {
	r := e.Revision()
	for i, x := range l.items {
		if i > 0 {
			b = append(b, ',')
		}
		if text := P(x.item).text(r); text != nil {
			b = append(b, text...)
		} else {
			b = P(x.item).shown(r).AppendJSON(b, e)
		}
	}
	return b
}

// texts is something registered as each revision has it in lists, written down
// when it was registered. It never changes.
type texts [][]byte

// newTexts writes down what is shown. A revision for which that cannot be done
// has nil: whoever asks for it will be told.
func newTexts(shown func(wire.Revision) wire.Value) texts {
	all := make(texts, len(mcp.Revisions))
	for i, r := range mcp.Revisions {
		text, err := wire.Append(nil, &wire.Frame{Revision: r.Revision}, shown(r.Revision))
		switch {
		case err != nil:
		case i > 0 && bytes.Equal(text, all[i-1]):
			all[i] = all[i-1]
		default:
			all[i] = bytes.Clone(text)
		}
	}
	return all
}

func (t texts) text(r wire.Revision) []byte {
	if i := r.Index(); i >= 0 && i < len(t) {
		return t[i]
	}
	return nil
}

// onWire tells whether the answer to a message is written down and seen by
// nobody before. Otherwise it is handed over as the type that the protocol has.
func (s *Server) onWire(ctx context.Context) bool {
	return len(s.opts.Middleware) == 0 && mcp.SessionFromContext(ctx).Transport().Kind() != "direct"
}

// page returns one page of a shelf, as the caller may see it, and the cursor of
// the next one. A cursor holds the key of the last item that was shown: it means
// the same at every replica, and still does when that item has gone.
func page[T any](ctx context.Context, s *Server, kind Kind, items shelf[T], cursor *string) (shelf[T], *string, error) {
	if cursor != nil {
		key, ok := readCursor(kind, *cursor)
		if !ok {
			return nil, nil, invalid("Invalid cursor")
		}
		items = items.after(key)
	}
	if s.opts.Filter != nil {
		items = items.first(s.opts.PageSize+1, func(key string) bool { return s.visible(ctx, kind, key) })
	}
	if len(items) <= s.opts.PageSize {
		return items, nil, nil
	}
	items = items[:s.opts.PageSize]
	next := writeCursor(kind, items[len(items)-1].key)
	return items, &next, nil
}

// A cursor is the kind and the key in base64, so that one of another list is
// told from its own.
func writeCursor(kind Kind, key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(string(kind) + "\n" + key))
}

func readCursor(kind Kind, cursor string) (key string, ok bool) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(string(text), string(kind)+"\n")
}

// clean returns a copy of what is to be registered that shares nothing with it,
// and whose raw values can be written as they are.
func clean[T any, P interface {
	*T
	wire.Value
}](v *T) (T, error) {
	var copied T
	text, err := wire.Append(nil, nil, P(v))
	if err == nil {
		err = wire.Decode(text, nil, P(&copied))
	}
	return copied, err
}
