package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// quiet disables logging.
var quiet = &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)}

// senderMeta is the metadata of a request of a stateless revision.
const senderMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// BenchmarkCall calls a typed tool in process, without encoding. Its arguments are validated.
func BenchmarkCall(b *testing.B) {
	client := own(b, newForecaster(quiet))
	req := &mcp.CallToolRequest{Name: "forecast", Arguments: json.RawMessage(`{"city":"Ulm","days":3}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := peer.SendRequest(b.Context(), client, req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCallWithoutArguments is BenchmarkCall with empty arguments.
func BenchmarkCallWithoutArguments(b *testing.B) {
	s := mcpserver.New(info, quiet)
	res := mcp.TextResult("hi")
	mcpserver.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.ServerSession, struct{}) (*mcp.CallToolResult, error) {
		return res, nil
	})
	client := own(b, s)
	req := &mcp.CallToolRequest{Name: "t"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := peer.SendRequest(b.Context(), client, req); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList lists a hundred tools in process, as JSON.
func BenchmarkList(b *testing.B) {
	s := mcpserver.New(info, quiet)
	for i := range 100 {
		mcpserver.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("forecast%d", i), Description: "Tells the weather."}, forecast)
	}
	for _, revision := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		b.Run(revision.String(), func(b *testing.B) {
			conn := connection.NewForRequest(revision, nil, nil, nil)
			in := &peer.Inbound{Method: mcp.MethodListTools, ID: wire.IntID(1), Params: json.RawMessage(`{` + senderMeta + `}`)}
			buf := make([]byte, 0, 100_000)
			b.ReportAllocs()
			for b.Loop() {
				reply, err := s.Dispatcher().Serve(b.Context(), conn, in)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := wire.AppendResult(buf, reply.Frame, in.ID, reply.Result); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkListOverAPipe is BenchmarkList over a pipe.
func BenchmarkListOverAPipe(b *testing.B) {
	s := mcpserver.New(info, quiet)
	for i := range 100 {
		mcpserver.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("forecast%d", i), Description: "Tells the weather."}, forecast)
	}
	for _, revision := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		b.Run(revision.String(), func(b *testing.B) {
			near, far := net.Pipe()
			served := make(chan error, 1)
			go func() { served <- s.ServeStreams(b.Context(), far, far) }() // ends with the pipe
			lines := bufio.NewReaderSize(near, 1<<20)
			ask := func(line string) {
				if _, err := io.WriteString(near, line+"\n"); err != nil {
					b.Fatal(err)
				}
				if answer, err := lines.ReadSlice('\n'); err != nil || !bytes.Contains(answer, []byte(`"result"`)) {
					b.Fatal(err, string(answer))
				}
			}
			if handshakes(revision.String()) {
				ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
			}
			b.ReportAllocs()
			for b.Loop() {
				ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + senderMetaOf(revision.String()) + `}}`)
			}
			near.Close()
			<-served
		})
	}
}

// senderMetaOf returns the metadata that a request must have in a revision.
func senderMetaOf(revision string) string {
	if !handshakes(revision) {
		return senderMeta
	}
	return ""
}

// BenchmarkUpdate notifies a thousand streams of a change. Each notification is queued and
// sent by the goroutine of its stream.
func BenchmarkUpdate(b *testing.B) {
	benchmarkUpdate(b, func(c *counter) peer.BackChannel { return c })
}

// BenchmarkUpdatePosted is BenchmarkUpdate for streams that accept a notification at once,
// without their goroutine.
func BenchmarkUpdatePosted(b *testing.B) {
	benchmarkUpdate(b, func(c *counter) peer.BackChannel { return poster{c} })
}

func benchmarkUpdate(b *testing.B, back func(*counter) peer.BackChannel) {
	const streams = 1000
	s := stocked(&mcpserver.Options{Logger: quiet.Logger})
	heard := make(chan struct{}, streams)
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{}, streams)
	for i := range streams {
		in := &peer.Inbound{
			Method: mcp.MethodSubscriptionsListen, ID: wire.IntID(int64(i + 1)), Back: back(&counter{heard: heard}),
			Params: json.RawMessage(`{"notifications":{"resourceSubscriptions":["x:n1"]},` + senderMeta + `}`),
		}
		go func() { // ends with the benchmark
			defer func() { done <- struct{}{} }()
			if _, err := s.Dispatcher().ServeStateless(ctx, in, nil); ctx.Err() == nil {
				panic(err)
			}
		}()
	}
	for range streams {
		<-heard
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.ResourceUpdated(ctx, "x:n1"); err != nil {
			b.Fatal(err)
		}
		for range streams {
			<-heard
		}
	}
	cancel()
	for range streams {
		<-done
	}
}

// counter is the channel of a stream. It encodes its notifications.
type counter struct {
	heard chan struct{}
	buf   []byte
}

func (c *counter) Call(context.Context, peer.Message, wire.Value, ...peer.CallOption) error {
	return nil
}

func (c *counter) Progress(context.Context, peer.Progress) error { return nil }

func (c *counter) Notify(_ context.Context, n peer.Notification, _ ...peer.CallOption) (err error) {
	c.buf, err = wire.AppendNotification(c.buf[:0], newestFrame, n.Method(), n)
	c.heard <- struct{}{}
	return err
}

var newestFrame = &wire.Frame{Revision: mcp.Revision20260728}

// poster is a counter that accepts notifications without blocking.
type poster struct{ *counter }

func (p poster) Post(n peer.Notification, opts ...peer.CallOption) (taken bool) {
	return p.Notify(context.Background(), n, opts...) == nil
}
