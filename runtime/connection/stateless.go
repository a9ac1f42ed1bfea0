package connection

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/headers"
	"github.com/mcpwright/mcp/runtime/internal/loglevel"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ServeStateless handles one message of a stateless revision. It validates the message metadata,
// makes a connection for the message, and closes the connection before it returns. A notification
// has no metadata. Its revision is named by its header or by the option DefaultRevision, or else
// it is the newest stateless revision that the dispatcher serves. If opts is nil, the connection
// has no channel.
func (d *Dispatcher) ServeStateless(ctx context.Context, in *peer.Inbound, opts *Options) (peer.Reply, error) {
	c := new(statelessCall)
	if err := d.begin(ctx, c, in, opts); err != nil {
		return peer.Reply{}, err
	}
	defer c.end(ctx)
	s := &c.session
	return s.finish(d.handle((*handlerContext)(s), s, d.changeable(s), d.chain))
}

// statelessCall is the connection for one message, in one allocation with its initial facts and
// its session.
type statelessCall struct {
	conn    Connection
	facts   facts
	session session
}

func (c *statelessCall) end(ctx context.Context) {
	c.session.abortEffect()
	c.conn.Close(ctx)
}

// begin validates the metadata of a message and makes its connection and its session, which has the
// message without its metadata. The caller calls end.
func (d *Dispatcher) begin(ctx context.Context, c *statelessCall, in *peer.Inbound, opts *Options) error {
	var header peer.Header
	if in.Transport != nil {
		header = in.Transport.Header()
	}
	if msg, meta := d.decodeNewest(in); msg != nil {
		if header != nil {
			if err := checkMessageHeaders(in, msg, meta.ProtocolVersion, header); err != nil {
				return err
			}
		}
		c.facts.info, c.facts.caps = meta.ClientInfo, meta.ClientCapabilities
		c.init(ctx, d, in, msg, opts, d.stateless, meta.LogLevel)
		return nil
	}
	in, m, err := d.readMetadata(in, header, opts)
	if err != nil {
		return err
	}
	c.facts.metadata = m
	c.init(ctx, d, in, decodedIn(in, m.Revision), opts, m.Revision, m.LogLevel)
	return nil
}

func (c *statelessCall) init(ctx context.Context, d *Dispatcher, in *peer.Inbound, msg peer.Message, opts *Options, r wire.Revision, level mcp.LoggingLevel) {
	c.facts.server = d.capabilities(in.Transport)
	extra := extraOf(opts, d.lastExtra.Load())
	if extra != nil {
		d.lastExtra.Store(extra)
	}
	c.conn.initReady(opts, extra, r, &c.facts)
	c.session.init(ctx, &c.conn, in, msg)
	c.session.logs = loglevel.Of(level)
}

// decodeNewest decodes a request of the newest stateless revision together with its metadata. It
// returns nil if the request is invalid or is not a usual one: [Dispatcher.readMetadata] handles
// these requests.
func (d *Dispatcher) decodeNewest(in *peer.Inbound) (peer.Message, *mcp.RequestMeta) {
	if in.ID.IsZero() || in.Method == mcp.MethodInitialize || !d.servesStateless {
		return nil, nil
	}
	msg := decodedIn(in, d.stateless)
	if msg == nil {
		msg = d.decodeHandled(in)
	}
	withMeta, ok := msg.(interface{ RequestMeta() *mcp.RequestMeta })
	if !ok {
		return nil, nil
	}
	meta := withMeta.RequestMeta()
	if meta == nil || meta.ProtocolVersion != d.stateless.String() || meta.ClientCapabilities == nil {
		return nil, nil
	}
	return msg, meta
}

// decodeHandled decodes a request in the newest stateless revision. It returns nil if there is no
// handler, or if decoding fails.
func (d *Dispatcher) decodeHandled(in *peer.Inbound) peer.Message {
	method := d.method(in.Method, d.stateless)
	if in.Value != nil || !method.handled() {
		return nil
	}
	msg := method.route.New()
	if in.Decode(revisions.Frame(d.stateless), msg) != nil {
		return nil
	}
	return msg
}

// metadataReaders contains unused readers. Only the Metadata of a reader is used after the reader
// is put back.
var metadataReaders = sync.Pool{New: func() any { return new(metadataReader) }}

// readMetadata reads and validates the metadata of a message. It returns the message without its
// metadata if it was passed in process.
func (d *Dispatcher) readMetadata(in *peer.Inbound, header peer.Header, opts *Options) (*peer.Inbound, *Metadata, error) {
	r := metadataReaders.Get().(*metadataReader)
	in = d.splitMetadata(r, in)
	err := d.validate(r, in, header)
	if in.ID.IsZero() {
		r.Revision = d.defaultRevision(header, opts)
	}
	m := r.Metadata
	*r = metadataReader{}
	metadataReaders.Put(r)
	return in, &m, err
}

// splitMetadata returns the message without its metadata if it is an [outbound.WithMetadata], and
// puts the metadata into r. A message that is not of the handler's type is encoded later, with
// its metadata.
func (d *Dispatcher) splitMetadata(r *metadataReader, in *peer.Inbound) *peer.Inbound {
	w, ok := in.Value.(outbound.WithMetadata)
	if !ok {
		return in
	}
	msg, meta := w.SplitMetadata()
	r.Meta = meta
	if method := d.method(in.Method, d.stateless); !method.handled() || !method.route.Is(msg) {
		return in
	}
	inner := *in
	inner.Value = msg
	return &inner
}

// defaultRevision returns the revision of a message without metadata.
func (d *Dispatcher) defaultRevision(header peer.Header, opts *Options) wire.Revision {
	var r wire.Revision
	if name := header.Get(headers.ProtocolVersion); name != "" {
		r, _ = mcp.ParseRevision(name)
	} else if opts != nil {
		r = opts.DefaultRevision
	}
	if !revisions.Handshake(r) && slices.Contains(d.opts.Revisions, r) {
		return r
	}
	return d.stateless
}

// validate validates the metadata of a message. An initialize request gets the error that lists
// the served revisions. With headers, and with metadata or a served revision, it is treated as a
// request with an unknown method instead, because there is nothing to negotiate.
func (d *Dispatcher) validate(r *metadataReader, in *peer.Inbound, header peer.Header) error {
	if in.ID.IsZero() {
		return nil
	}
	if in.Method == mcp.MethodInitialize {
		requested := requestedRevision(in)
		_, hasMetadata := namedRevision(in)
		if header == nil || !hasMetadata && !slices.Contains(revisions.Names(d.opts.Revisions), requested) {
			return d.unsupported(requested)
		}
	}
	var params json.RawMessage
	if r.Meta == nil {
		params = paramsOf(in)
	}
	return r.readValid(in.Method, params, header, d.opts.Revisions)
}
