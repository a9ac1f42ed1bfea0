package docs

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// moodRequest asks a server for its mood.
type moodRequest struct{ Of string }

func (*moodRequest) Method() string   { return "acme/mood" }
func (*moodRequest) NewResult() *mood { return new(mood) }

var moodRequestMembers = wire.NewMembers("moodRequest", wire.Member{Name: "of", In: wire.Always})

func (r *moodRequest) AppendParams(b []byte, e *wire.Encoder) []byte {
	return append(wire.AppendString(append(b, `{"of":`...), r.Of), '}')
}

func (r *moodRequest) DecodeParams(d *wire.Decoder) {
	for o := d.Object(moodRequestMembers); o.Next(); {
		if o.Name == "of" {
			r.Of = d.String()
		} else {
			d.Skip()
		}
	}
}

// mood is the answer.
type mood struct{ Mood string }

var moodMembers = wire.NewMembers("mood", wire.Member{Name: "mood", In: wire.Always, Required: wire.Always})

func (m *mood) AppendJSON(b []byte, e *wire.Encoder) []byte {
	return append(wire.AppendString(append(b, `{"mood":`...), m.Mood), '}')
}

func (m *mood) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(moodMembers); o.Next(); {
		if o.Name == "mood" {
			m.Mood = d.String()
		} else {
			d.Skip()
		}
	}
}

func Example_method() {
	ctx := context.Background()
	server := weather(nil)
	mcpserver.Handle(server, func(_ context.Context, req *moodRequest) (*mood, error) {
		return &mood{Mood: req.Of + " is in high spirits"}, nil
	})
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(server), &mcpclient.Options{Revision: mcp.Revision20251125})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	res, err := peer.SendRequest(ctx, client, &moodRequest{Of: "the server"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Mood)
	// Output: the server is in high spirits
}

// serveSocket serves each connection to a Unix socket.
func serveSocket(ctx context.Context, l net.Listener, server *mcpserver.Server) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go server.ServeStreams(ctx, conn, conn)
	}
}

// dialSocket is the client's end.
func dialSocket(ctx context.Context, path string) (*mcpclient.Client, error) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, err
	}
	return mcpclient.Connect(ctx, mcpclient.Streams(io.ReadCloser(conn), conn), nil)
}

// traced sends the trace of the caller's context along with each request.
type traced struct{ peer.Outbound }

func (o traced) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	return o.Outbound.Call(ctx, req, res, append(slices.Clip(opts), func(c *peer.CallOptions) {
		frame := *c.Frame
		frame.Meta = append(slices.Clip(frame.Meta), wire.Entry{Name: "traceparent", Value: traceOf(ctx)})
		c.Frame = &frame
	})...)
}

// traceOf stands for what a telemetry library knows of a context.
func traceOf(context.Context) []byte {
	return []byte(`"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`)
}

func Example_trace() {
	ctx := context.Background()
	server := mcpserver.New(mcp.Implementation{Name: "traced", Version: "1.0.0"}, nil)
	server.AddRawTool(&mcp.Tool{Name: "trace"}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Meta == nil {
			return mcp.TextResult("no trace"), nil
		}
		return mcp.TextResult(string(req.Meta.Extra["traceparent"])), nil
	})
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(server), &mcpclient.Options{
		Outgoing: []func(peer.Outbound) peer.Outbound{func(out peer.Outbound) peer.Outbound { return traced{out} }},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	fmt.Println(mcpclient.CallTool[string](ctx, client, "trace", nil))
	// Output: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" <nil>
}

// timed measures what comes in.
func timed(next peer.Handler) peer.Handler {
	return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		log.Print(in.Method, " begins")
		defer log.Print(in.Method, " ends")
		return next.Handle(ctx, in)
	})
}
