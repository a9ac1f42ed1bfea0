package jsonrpc

import (
	"context"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Writer takes whole messages to the peer. It is safe for concurrent use and
// must not keep data.
type Writer interface {
	// WriteMessage writes one message, or sees to it that it is written after
	// those it took before. It may block while the peer is slow, until ctx
	// ends or the transport is closed. An error that comes before the first
	// byte has gone out wraps [ErrNotWritten].
	WriteMessage(ctx context.Context, data []byte) error
}

// MessageInfo says what a message is, for a [Writer] that wants to know.
type MessageInfo struct {
	// Method is the method of a request or notification, empty for an answer.
	Method string
	// ID is the id of the request, also of one that is answered. It is zero
	// for a notification, and where several requests are answered at once.
	ID wire.RequestID
	// Name is what a request is about, empty where its type does not say; see
	// [peer.Named].
	Name string
	// Revision is the one that the message was written for, zero for all.
	Revision wire.Revision
	// Header is what the call wants to be sent along. It is not to be changed.
	Header http.Header
	// Patience is how long the sender of a request waits for it to be taken;
	// negative is without end. It means nothing for other messages.
	Patience time.Duration
	// Error is the error that is answered, nil for a result.
	Error *peer.Error
	// More tells that more messages are likely to follow at once: the answers
	// to requests that came together.
	More bool
}

// InfoWriter is a [Writer] that is told what it writes, such as one that
// makes an HTTP request of it. A dispatcher calls WriteWithInfo in place of
// WriteMessage.
type InfoWriter interface {
	Writer
	WriteWithInfo(ctx context.Context, e MessageInfo, data []byte) error
}

// Source says where an inbound message comes from. The zero Origin is the
// connection itself.
type Source struct {
	// Transport is what the transport knows about the message, nil where
	// [Options].Transport says it all.
	Transport peer.TransportContext
	// Back takes everything that belongs to the message: its answer, and what
	// its handler sends while it runs. Nil is the connection's own Writer.
	Back Writer
	// Message is the message, if the transport has read it already; the data that
	// [Conn.Deliver] takes is then ignored. Deliver handles a request in the calling
	// goroutine. If Deliver returns and nothing has been written to Back, the request gets
	// no response, because its sender cancelled it or the connection has closed.
	Message *wire.Message
	// Frame is the frame that the params of Message were read with; nil if they were not
	// read.
	Frame *wire.Frame
	// Token is the progress token of Message; see [ProgressToken]. It is zero if the sender
	// did not ask for progress.
	Token wire.ProgressToken
	// Admit, where it is not nil, sees each message before anything comes of
	// it. One that cannot be read comes with the reason, and with what is
	// known of it. An error keeps the message out, and goes to
	// [Options].OnError. Admit must not wait, and must not keep the message,
	// but may give it another id.
	Admit func(m *wire.Message, unreadable error) error
	// Detached tells that what ends the message's context does not end its handling.
	Detached bool
	// Buffer is what has the message's bytes, nil where they are elsewhere. It is the
	// dispatcher's from now on, which writes down the answer to a request in it, behind
	// them, and frees it when nobody reads them any more.
	Buffer *Buffer
	// Release is for bytes that are in no Buffer. Where it is not nil, it is called
	// once when nobody reads them any more.
	Release func()
}
