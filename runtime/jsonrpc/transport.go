package jsonrpc

import (
	"context"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Writer sends whole messages to the peer. It must be safe for concurrent use, and must not
// retain data.
type Writer interface {
	// WriteMessage writes one message, or queues it behind the messages that it accepted
	// before. It may block while the peer is slow, until ctx ends or the transport is
	// closed. An error that occurs before the first byte is sent wraps [ErrNotWritten].
	WriteMessage(ctx context.Context, data []byte) error
}

// InfoWriter is a [Writer] that needs to know what it writes, such as one that sends each
// message as an HTTP request. A [Conn] calls WriteWithInfo instead of WriteMessage.
type InfoWriter interface {
	Writer
	WriteWithInfo(ctx context.Context, e MessageInfo, data []byte) error
}

// tryWriter is a Writer that may be able to send a message without waiting for the peer.
type tryWriter interface {
	Writer
	// tryWriteMessage sends data and reports true, if it can do so without waiting. If it
	// reports false, nothing is sent.
	tryWriteMessage(data []byte) bool
}

// failingWriter is a Writer that may fail to write a message after it accepted the message.
type failingWriter interface{ onFailure(func(error)) }

// MessageInfo describes an outbound message to an [InfoWriter].
type MessageInfo struct {
	// Method is the method of a request or notification. It is empty for a response.
	Method string
	// ID is the id of a request, or of the request that a response is for. It is zero for a
	// notification, and for the response to a batch.
	ID wire.RequestID
	// Name is the name of the tool, prompt or resource that a request is about. It is empty
	// if the type of the request has no name; see [peer.Named].
	Name string
	// Revision is the revision that the message is encoded for, or zero for all revisions.
	Revision wire.Revision
	// Header contains the HTTP headers of the caller. The Writer must not change it.
	Header peer.Header
	// Patience is how long the sender of a request waits for the Writer to accept the
	// request. Negative is no limit. It is zero for other messages.
	Patience time.Duration
	// Error is the error of a response, or nil for a result.
	Error *peer.Error
	// More reports whether more messages are likely to follow at once, because several
	// requests arrived together.
	More bool
}

// Source describes where an inbound message comes from. The zero Source is the connection itself.
type Source struct {
	// Transport is what the transport knows about the message. Nil stands for
	// [Options].Transport.
	Transport peer.TransportContext
	// Back receives everything that belongs to the message: its response, and what its
	// handler sends while it runs. Nil is the Writer of the connection.
	Back Writer
	// Message is the message, if the transport has read it already. [Conn.Deliver] then
	// ignores its data, and handles a request in the calling goroutine. If Deliver returns
	// and nothing has been written to Back, the request gets no response, because its sender
	// cancelled it or the connection has closed.
	Message *wire.Message
	// Frame is the frame that the params of Message were read with. It is nil if they were
	// not read.
	Frame *wire.Frame
	// Token is the progress token in the params of Message. It is zero if the sender did not
	// ask for progress reports. It is used only together with Message.
	Token wire.ProgressToken
	// Admit is called with each message before it has any effect; nil admits all messages. If
	// the message cannot be read, Admit receives the reason and the parts that could be read.
	// If Admit returns an error, the message is dropped and [Options].OnError is called.
	// Admit must not wait and must not retain the message. It may change the id.
	Admit func(m *wire.Message, unreadable error) error
	// Detached reports whether handling the message goes on after the context of the message
	// has ended.
	Detached bool
	// Release is called once, when the bytes of the message are not used any more. Nil is
	// allowed.
	Release func()
}

// payload contains the bytes of an inbound message.
type payload struct {
	data []byte
	memory
}

// memory is the memory that is used until an inbound message has been handled.
type memory struct {
	buf     *buffer.Buffer // contains the message or its response; may be nil
	release func()         // releases a message that is not in buf; may be nil
}

// free releases the memory. Calling it again has no effect.
func (m *memory) free() {
	if buf := m.buf; buf != nil {
		m.buf = nil
		buf.Free()
	}
	if release := m.release; release != nil {
		m.release = nil
		release()
	}
}

// buffer returns a buffer to append to, until the memory is freed. It may contain the message.
func (m *memory) buffer() *buffer.Buffer {
	if m.buf == nil {
		m.buf = buffer.New()
	}
	return m.buf
}
