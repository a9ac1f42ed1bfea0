package connection

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ServeStateless handles one message that says itself who sends it: it judges the
// envelope, makes a connection for the message, and closes that before it
// returns. A notification says nothing; it counts as one of the revision that its
// header or [Options.VersionHint] names, else of the newest that is served this way.
// Nil as opts is a connection without a channel.
func (k *Dispatcher) ServeStateless(ctx context.Context, in *peer.Inbound, opts *Options) (peer.Reply, error) {
	x := new(exchange)
	in, err := k.receive(ctx, x, in, opts)
	if err != nil {
		return peer.Reply{}, err
	}
	defer x.end(ctx)
	c := &x.core
	return c.conclude(k.answer((*handlerContext)(c), c, in, k.chain))
}

// exchange is the connection that is made for one message, and what else it takes.
type exchange struct {
	conn  Connection
	facts facts // what conn begins with
	core  core
}

func (x *exchange) end(ctx context.Context) {
	x.core.abort()
	x.conn.Close(ctx)
}

// receive takes a message out of its envelope, and makes its connection, which
// the caller closes, and its session.
func (k *Dispatcher) receive(ctx context.Context, x *exchange, in *peer.Inbound, opts *Options) (*peer.Inbound, error) {
	var header http.Header
	if in.Transport != nil {
		header = in.Transport.Header()
	}
	if m, meta := k.glance(in); m != nil {
		if header != nil {
			if err := repeated(in, m, meta.ProtocolVersion, header); err != nil {
				return nil, err
			}
		}
		x.facts.info, x.facts.caps = meta.ClientInfo, meta.ClientCapabilities
		x.begin(ctx, k, in, m, opts, k.perRequest, meta.LogLevel)
		return in, nil
	}
	in, e, err := k.envelope(in, header, opts)
	if err != nil {
		return nil, err
	}
	x.facts.letter = e
	x.begin(ctx, k, in, readAs(in, e.Revision), opts, e.Revision, e.LogLevel)
	return in, nil
}

func (x *exchange) begin(ctx context.Context, k *Dispatcher, in *peer.Inbound, m peer.Message, opts *Options, r wire.Revision, level mcp.LoggingLevel) {
	x.facts.server = k.capabilities(in.Transport)
	x.conn.beReady(opts, r, &x.facts)
	x.core.begin(ctx, &x.conn, in, m)
	x.core.logs = severityOf(level)
}

// glance reads a request in the newest revision, its envelope with it, in one
// pass. It returns nil where that does not settle everything: what is wrong, or
// special in some way, is left to a closer look.
func (k *Dispatcher) glance(in *peer.Inbound) (peer.Message, *mcp.RequestMeta) {
	if in.ID.IsZero() || in.Method == mcp.MethodInitialize || !k.envelopes {
		return nil, nil
	}
	m := readAs(in, k.perRequest)
	if m == nil {
		m = k.message(in)
	}
	enveloped, is := m.(interface{ RequestMeta() *mcp.RequestMeta })
	if !is {
		return nil, nil
	}
	meta := enveloped.RequestMeta()
	if meta == nil || meta.ProtocolVersion != k.perRequest.String() || meta.ClientCapabilities == nil {
		return nil, nil
	}
	return m, meta
}

// message reads a request as the newest revision has it. It returns nil where nobody
// handles it or where it is not as that revision has it.
func (k *Dispatcher) message(in *peer.Inbound) peer.Message {
	method := k.method(in.Method, k.perRequest)
	if in.Value != nil || !method.handled() {
		return nil
	}
	m := method.route.New()
	if in.Decode(plainFrame(k.perRequest), m) != nil {
		return nil
	}
	return m
}

// letters are used again: nothing of one is kept but its envelope.
var letters = sync.Pool{New: func() any { return new(letter) }}

// envelope takes a message out of its envelope and says what that says.
func (k *Dispatcher) envelope(in *peer.Inbound, header http.Header, opts *Options) (*peer.Inbound, *Metadata, error) {
	l := letters.Get().(*letter)
	in = k.unwrap(l, in)
	err := k.judge(l, in, header)
	if in.ID.IsZero() {
		l.Revision = k.hinted(header, opts)
	}
	e := l.Metadata
	*l = letter{}
	letters.Put(l)
	return in, &e, err
}

// hinted is the revision of a message that does not say its own.
func (k *Dispatcher) hinted(header http.Header, opts *Options) wire.Revision {
	name := header.Get(HeaderVersion)
	if name == "" && opts != nil {
		name = opts.VersionHint
	}
	if r, known := mcp.ParseRevision(name); known && !handshake(r) && slices.Contains(k.opts.Revisions, r) {
		return r
	}
	return k.perRequest
}

// judge judges the envelope of a message. A handshake gets the error that names
// the revisions, unless it is none: with headers, and an envelope or a version that
// is served, there is nothing to negotiate, and initialize is just a method that
// the revision does not have.
func (k *Dispatcher) judge(l *letter, in *peer.Inbound, header http.Header) error {
	if in.ID.IsZero() {
		return nil
	}
	if in.Method == mcp.MethodInitialize {
		asked := versionAsked(in)
		if header == nil || !enveloped(in) && !slices.Contains(names(k.opts.Revisions), asked) {
			return k.unsupported(asked)
		}
	}
	var params json.RawMessage
	if l.Meta == nil {
		params = paramsOf(in)
	}
	return l.classify(in.Method, params, header, k.opts.Revisions)
}
