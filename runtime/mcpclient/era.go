package mcpclient

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/wire"
)

// handshake tells whether a session of the revision begins with initialize.
func handshake(r wire.Revision) bool { return eras.Handshake(r) }

// newest is the newest of the revisions of an era that a list names, and
// whether there is one. Names that mean nothing here are skipped.
func newest(names []string, want bool) (wire.Revision, bool) {
	for _, r := range slices.Backward(mcp.Revisions) {
		if r.Handshake == want && slices.Contains(names, r.Revision.String()) {
			return r.Revision, true
		}
	}
	return wire.Revision{}, false
}

// first is the revision to try first, and whether that settles the era.
func (o *Options) first(hint wire.Revision) (r wire.Revision, settled bool) {
	switch {
	case o.Revision.Index() >= 0:
		return o.Revision, true
	case hint.Index() >= 0 && o.speaks(hint):
		return hint, o.Mode != Auto
	case o.Mode == Handshake:
		return eras.Newest(true), true
	}
	return eras.Newest(false), o.Mode == NoHandshake
}

// speaks tells whether the client may speak a revision.
func (o *Options) speaks(r wire.Revision) bool {
	if o.Revision.Index() >= 0 {
		return r == o.Revision
	}
	switch o.Mode {
	case NoHandshake:
		return !handshake(r)
	case Handshake:
		return handshake(r)
	}
	return true
}

// envelope is what each request says about this client in a revision without
// a handshake.
func (c *Client) envelope(r wire.Revision) []wire.Entry {
	f := &wire.Frame{Revision: r}
	entries := []wire.Entry{
		{Name: eras.KeyVersion, Value: wire.AppendString(nil, r.String())},
		{Name: eras.KeyCapabilities, Value: written(f, &c.declared)},
		{Name: eras.KeyInfo, Value: written(f, &c.opts.Info)},
	}
	if c.opts.OnLog != nil {
		entries = append(entries, levelEntry(c.opts.LogLevel))
	}
	return entries
}

// written is a value that check has seen.
func written(f *wire.Frame, v wire.Value) json.RawMessage {
	b, err := wire.Append(nil, f, v)
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}

// check judges the options by what would fail later, far from its cause.
func (o *Options) check(declared *mcp.ClientCapabilities) error {
	for _, r := range mcp.Revisions {
		f := &wire.Frame{Revision: r.Revision}
		if _, err := wire.Append(nil, f, &o.Info); err != nil {
			return fmt.Errorf("options: Info: %w", err)
		}
		if _, err := wire.Append(nil, f, declared); err != nil {
			return fmt.Errorf("options: capabilities: %w", err)
		}
	}
	if err := connection.CheckExtensions(declared.Extensions); err != nil {
		return fmt.Errorf("options: capabilities: %w", err)
	}
	return checkRoots(o.Roots)
}
