package mcpserver

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

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

// room returns how many items there may be on a page.
func (s *Server) room(items int) int { return min(items, s.opts.PageSize) }

// page adds one page of a shelf, as the caller may see it, and returns the cursor
// of the next one. A cursor holds the key of the last item that was shown: it
// means the same at every replica, and still does when that item has gone.
func page[T any](ctx context.Context, s *Server, kind Kind, items shelf[T], cursor *string, add func(*T)) (*string, error) {
	if cursor != nil {
		key, ok := readCursor(kind, *cursor)
		if !ok {
			return nil, invalid("Invalid cursor")
		}
		items = items.after(key)
	}
	n := 0
	for i, x := range items {
		if !s.visible(ctx, kind, x.key) {
			continue
		}
		if n == s.opts.PageSize {
			next := writeCursor(kind, items[i-1].key)
			return &next, nil
		}
		add(x.item)
		n++
	}
	return nil, nil
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

// handshake tells whether a message came in a revision that has the handshake.
func handshake(ctx context.Context) bool {
	r := revisionOf(ctx)
	return r.Index() >= 0 && mcp.Revisions[r.Index()].Handshake
}
