package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// moodRequest is a request for the mood of a server.
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

// mood is the result.
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
		return &mood{Mood: req.Of + " is in a good mood"}, nil
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
	// Output: the server is in a good mood
}

// object writes and reads a value with encoding/json.
type object[T any] struct{ Value T }

func (o *object[T]) AppendJSON(b []byte, e *wire.Encoder) []byte {
	data, err := json.Marshal(&o.Value)
	e.FailWith(b, err)
	return append(b, data...)
}

func (o *object[T]) DecodeJSON(d *wire.Decoder) {
	if data := d.RawObject(); data != nil {
		d.FailWith(json.Unmarshal(data, &o.Value))
	}
}

func (o *object[T]) AppendParams(b []byte, e *wire.Encoder) []byte { return o.AppendJSON(b, e) }
func (o *object[T]) DecodeParams(d *wire.Decoder)                  { o.DecodeJSON(d) }

// weightRequest is a request for the weight of a server.
type weightRequest struct{ object[weightOf] }

func (*weightRequest) Method() string             { return "acme/weight" }
func (*weightRequest) NewResult() *object[weight] { return new(object[weight]) }

type (
	weightOf struct {
		Unit string `json:"unit"`
	}
	weight struct {
		Amount int    `json:"amount"`
		Unit   string `json:"unit"`
	}
)

func Example_queue() {
	ctx := context.Background()
	server := weather(nil)
	mcpserver.Handle(server, func(_ context.Context, req *weightRequest) (*object[weight], error) {
		return &object[weight]{weight{12, req.Value.Unit}}, nil
	})
	for _, r := range mcp.Revisions {
		up, down := make(queue), make(queue)
		go func() {
			defer close(down)
			if err := serveQueue(ctx, server, up, down); err != nil {
				log.Print(err)
			}
		}()
		client, err := mcpclient.Connect(ctx, dialQueue(down, up), &mcpclient.Options{Revision: r.Revision})
		if err != nil {
			log.Fatal(err)
		}
		res, err := peer.SendRequest(ctx, client, &weightRequest{object[weightOf]{weightOf{"kg"}}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(r.Revision, res.Value.Amount, res.Value.Unit)
		client.Close()
		close(up)
	}
	// Output:
	// 2024-11-05 12 kg
	// 2025-03-26 12 kg
	// 2025-06-18 12 kg
	// 2025-11-25 12 kg
	// 2026-07-28 12 kg
}

// queue simulates a message queue.
type queue chan []byte

// queueConn carries messages over a pair of queues.
type queueConn struct {
	in, out queue
	once    sync.Once
	closed  chan struct{}
}

func (c *queueConn) ReadMessage(ctx context.Context) ([]byte, error) {
	select {
	case data, open := <-c.in:
		if !open {
			return nil, io.EOF
		}
		return data, nil
	case <-c.closed:
		return nil, jsonrpc.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *queueConn) WriteMessage(ctx context.Context, data []byte) error {
	select {
	case c.out <- bytes.Clone(data):
		return nil
	case <-c.closed:
		return jsonrpc.ErrNotWritten
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *queueConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// serveQueue serves one client over two queues.
func serveQueue(ctx context.Context, server *mcpserver.Server, in, out queue) error {
	return server.Serve(ctx, &queueConn{in: in, out: out, closed: make(chan struct{})})
}

// dialQueue returns the endpoint of a server behind two queues.
func dialQueue(in, out queue) mcpclient.Endpoint {
	return mcpclient.Messages(&queueConn{in: in, out: out, closed: make(chan struct{})})
}

// serveSocket serves each connection of a listener.
func serveSocket(ctx context.Context, l net.Listener, server *mcpserver.Server) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go server.ServeStreams(ctx, conn, conn)
	}
}

// dialSocket connects to a Unix socket.
func dialSocket(ctx context.Context, path string) (*mcpclient.Client, error) {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, err
	}
	return mcpclient.Connect(ctx, mcpclient.Streams(io.ReadCloser(conn), conn), nil)
}

// traced adds the trace of the context to each request.
type traced struct{ peer.Outbound }

func (o traced) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	return o.Outbound.Call(ctx, req, res, append(slices.Clip(opts), func(c *peer.CallOptions) {
		frame := *c.Frame
		frame.Meta = append(slices.Clip(frame.Meta), wire.Entry{Name: "traceparent", Value: traceOf(ctx)})
		c.Frame = &frame
	})...)
}

// traceOf stands for a function of a telemetry library.
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

// audited logs each call of a tool, its caller, and whether it failed.
func audited(next peer.Handler) peer.Handler {
	return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
		if in.Method != mcp.MethodCallTool {
			return next.Handle(ctx, in)
		}
		var call mcp.CallToolRequest
		if err := in.Decode(in.Frame, &call); err != nil {
			return peer.Reply{}, err
		}
		reply, err := next.Handle(ctx, in)
		res, ok := reply.Result.(*mcp.CallToolResult)
		log.Print(call.Name, " for ", in.Transport.Principal(), ": failed ", err != nil || ok && res.IsError)
		return reply, err
	})
}

// logTool wraps the function of one tool.
func logTool[In, Out any](name string, h func(context.Context, *mcp.ServerSession, In) (Out, error)) func(context.Context, *mcp.ServerSession, In) (Out, error) {
	return func(ctx context.Context, s *mcp.ServerSession, in In) (Out, error) {
		out, err := h(ctx, s, in)
		log.Print(name, ": failed ", err != nil)
		return out, err
	}
}

func Example_toolMiddleware() {
	log.SetOutput(io.Discard)
	defer log.SetOutput(os.Stderr)
	ctx := context.Background()
	server := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0.0"}, &mcpserver.Options{
		Middleware: []peer.Middleware{audited},
	})
	forecast := func(_ context.Context, _ *mcp.ServerSession, in city) (string, error) {
		return "sunny in " + in.City, nil
	}
	mcpserver.AddTool(server, &mcp.Tool{Name: "forecast"}, logTool("forecast", forecast))
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(server), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	fmt.Println(mcpclient.CallTool[string](ctx, client, "forecast", city{"Bern"}))
	// Output: sunny in Bern <nil>
}

// observed returns a server that logs what happens.
func observed(info mcp.Implementation) *mcpserver.Server {
	server := mcpserver.New(info, &mcpserver.Options{Hooks: mcpserver.Hooks{
		SessionStart: func(_ context.Context, conn *connection.Connection) {
			log.Print(conn.ClientInfo().Name, " has connected")
		},
		SessionEnd: func(conn *connection.Connection) { log.Print(conn.ClientInfo().Name, " has left") },
		Before:     func(_ context.Context, in *peer.Inbound) { log.Print(in.Method) },
		Failed:     func(_ context.Context, in *peer.Inbound, err error) { log.Print(in.Method, " failed: ", err) },
		Registered: func(item mcpserver.Item) { log.Print("added ", item.Kind, " ", item.Name) },
	}})
	return server
}

func Example_sessionTool() {
	var lines strings.Builder
	log.SetOutput(&lines)
	log.SetFlags(0)
	defer func() {
		log.SetOutput(os.Stderr)
		log.SetFlags(log.LstdFlags)
	}()
	ctx := context.Background()
	server := observed(mcp.Implementation{Name: "weather", Version: "1.0.0"})
	forecast := func(_ context.Context, _ *mcp.ServerSession, in city) (string, error) {
		return "sunny in " + in.City, nil
	}
	mcpserver.AddTool(server, &mcp.Tool{Name: "login"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		err := mcpserver.AddSessionTool(server, connection.FromContext(ctx), &mcp.Tool{Name: "forecast"}, forecast)
		return "You can call forecast now.", err
	})
	fmt.Print(lines.String())
	log.SetOutput(io.Discard) // the end of the session is logged after the end of the example
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(server), &mcpclient.Options{Revision: mcp.Revision20251125})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(mcpclient.CallTool[string](ctx, client, "login", nil))
	fmt.Println(mcpclient.CallTool[string](ctx, client, "forecast", city{"Bern"}))
	client.Close()
	// Output:
	// added tool login
	// You can call forecast now. <nil>
	// sunny in Bern <nil>
}

type userKey struct{}

// forCustomers serves a server for each customer.
func forCustomers(servers map[string]*mcpserver.Server) http.Handler {
	handler := streamable.NewChoosingHandler(func(r *http.Request) *mcpserver.Server {
		return servers[r.PathValue("customer")]
	}, nil)
	http.Handle("/customers/{customer}/mcp", handler)
	withUser := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), userKey{}, r.Header.Get("X-User"))
		handler.ServeHTTP(w, r.WithContext(ctx))
	})
	return withUser
}

// Handlers get the values of the contexts of their transports.
func TestHandlersGetValues(t *testing.T) {
	server := mcpserver.New(mcp.Implementation{Name: "values", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "user"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		return fmt.Sprint(ctx.Value(userKey{})), nil
	})
	web := httptest.NewServer(forCustomers(map[string]*mcpserver.Server{"": server}))
	defer web.Close()
	overHTTP := mcpclient.URL(web.URL)
	overHTTP.HTTP.Header = http.Header{"X-User": {"ada"}}
	for _, r := range mcp.Revisions {
		near, far := net.Pipe()
		served := make(chan error, 1)
		go func() { served <- server.ServeStreams(context.WithValue(t.Context(), userKey{}, "ada"), far, far) }() // ends when the pipe is closed
		for _, endpoint := range []mcpclient.Endpoint{overHTTP, mcpclient.Streams(near, near)} {
			client, err := mcpclient.Connect(t.Context(), endpoint, &mcpclient.Options{Revision: r.Revision})
			require.NoError(t, err)
			user, err := mcpclient.CallTool[string](t.Context(), client, "user", nil)
			require.NoError(t, err)
			require.Equal(t, "ada", user, r.Revision)
			require.NoError(t, client.Close())
		}
		near.Close()
		require.NoError(t, <-served)
	}
}

// withEnvironment serves standard input and output.
func withEnvironment(server *mcpserver.Server) error {
	err := server.ServeStdio(context.WithValue(context.Background(), userKey{}, os.Getenv("USER")))
	return err
}

func TestQueueWithoutReaderEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up, down := make(queue), make(queue)
		served := make(chan struct{})
		go func() {
			defer close(served)
			serveQueue(t.Context(), weather(nil), up, down)
		}()
		up <- []byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		<-down // the only response that is read
		for id := range 50 {
			up <- fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id+1)
		}
		close(up)
		<-served
	}) // fails if a goroutine is left
}

// recorded returns a server and the endpoint of a program whose messages are written to a file.
func recorded(info mcp.Implementation, file io.Writer) (*mcpserver.Server, *mcpclient.CommandEndpoint) {
	server := mcpserver.New(info, &mcpserver.Options{Stdio: stdio.ServeOptions{
		Observe: func(sent bool, b []byte) { file.Write(b) },
	}})

	program := mcpclient.Command("weather-server")
	program.Start.Observe = func(sent bool, b []byte) { file.Write(b) }

	return server, program
}

func TestLogOfMessages(t *testing.T) {
	var file strings.Builder
	server, program := recorded(mcp.Implementation{Name: "observed", Version: "1"}, &file)
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- server.ServeStreams(t.Context(), serverIn, serverOut) }()
	client, err := mcpclient.Connect(t.Context(), mcpclient.Streams(clientIn, clientOut), nil)
	require.NoError(t, err)
	require.NoError(t, client.Close())
	require.NoError(t, <-ended)
	require.Regexp(t, `^\{.*"method":"server/discover".*\}\n\{.*"name":"observed".*\}\n$`, file.String())

	file.Reset()
	program.Start.Observe(true, []byte("sent"))
	require.Equal(t, "sent", file.String())
}
