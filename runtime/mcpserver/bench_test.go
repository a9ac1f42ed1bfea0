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

// quiet has nothing written, also in benchmarks.
var quiet = &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)}

// envelope is what a request says about its sender.
const envelope = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// BenchmarkCall calls a typed tool, its arguments validated, in process and
// without a wire.
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

// BenchmarkCallWithoutArguments is BenchmarkCall without anything to validate.
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

// BenchmarkList lists a hundred tools over a pipe.
func BenchmarkList(b *testing.B) {
	s := mcpserver.New(info, quiet)
	for i := range 100 {
		mcpserver.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("forecast%d", i), Description: "Tells the weather."}, forecast)
	}
	for _, revision := range []string{"2025-11-25", modern} {
		b.Run(revision, func(b *testing.B) {
			conn := connection.NewForRequest(revision, nil, nil, nil)
			in := &peer.Inbound{Method: mcp.MethodListTools, ID: wire.IntID(1), Params: json.RawMessage(`{` + envelope + `}`)}
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

// BenchmarkListOverAPipe is BenchmarkList with a pipe around it.
func BenchmarkListOverAPipe(b *testing.B) {
	s := mcpserver.New(info, quiet)
	for i := range 100 {
		mcpserver.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("forecast%d", i), Description: "Tells the weather."}, forecast)
	}
	for _, revision := range []string{"2025-11-25", modern} {
		b.Run(revision, func(b *testing.B) {
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
			if handshakes(revision) {
				ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
			}
			b.ReportAllocs()
			for b.Loop() {
				ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + envelopeOf(revision) + `}}`)
			}
			near.Close()
			<-served
		})
	}
}

// envelopeOf is what a request has to say about its sender in a revision.
func envelopeOf(revision string) string {
	if !handshakes(revision) {
		return envelope
	}
	return ""
}

// BenchmarkUpdate tells a thousand streams of a change, each of which has to be
// waited for, so that each has its goroutine woken.
func BenchmarkUpdate(b *testing.B) {
	benchmarkUpdate(b, func(c *counter) peer.BackChannel { return c })
}

// BenchmarkUpdatePosted is BenchmarkUpdate for streams that take a notification at
// once: what it costs here to tell a thousand of them.
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
			Params: json.RawMessage(`{"notifications":{"resourceSubscriptions":["x:n1"]},` + envelope + `}`),
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

// counter is the way back of a stream. It writes down what it is given.
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

// poster is a counter that nobody has to wait for.
type poster struct{ *counter }

func (p poster) TryNotify(n peer.Notification, opts ...peer.CallOption) (taken bool) {
	return p.Notify(context.Background(), n, opts...) == nil
}
