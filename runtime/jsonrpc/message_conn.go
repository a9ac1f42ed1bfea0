package jsonrpc

import "context"

// MessageConn is a connection that carries whole messages, such as a WebSocket or a pair of
// queues. Each message is one JSON value: a request, a notification, a response, or a batch.
//
// A server is served over it by mcpserver.Server.Serve.
type MessageConn interface {
	// WriteMessage sends one message. It may be called concurrently, and must not retain
	// data after it returns.
	Writer

	// ReadMessage returns the next message. The caller may retain the bytes. ReadMessage
	// returns [io.EOF] when the peer has disconnected, and it must return soon after ctx
	// ends. It is called by one goroutine at a time.
	ReadMessage(ctx context.Context) ([]byte, error)

	// Close closes the connection. It unblocks ReadMessage and WriteMessage, which return
	// an error. It may be called concurrently with both, and more than once.
	Close() error
}
