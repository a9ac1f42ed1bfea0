package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// inProcess is an Outbound that calls the handlers of a mux. In a program, a transport
// creates the connection.
type inProcess struct{ mux *peer.Mux }

func (o inProcess) Call(ctx context.Context, req peer.Message, res wire.Value, _ ...peer.CallOption) error {
	route, ok := o.mux.Route(req.Method())
	if !ok {
		return &peer.Error{Code: mcp.CodeMethodNotFound, Message: "Method not found"}
	}
	result, err := route.Serve(ctx, req)
	if err != nil {
		return err
	}
	data, err := wire.Append(nil, nil, result)
	if err != nil {
		return err
	}
	return wire.Decode(data, nil, res)
}

func (o inProcess) Notify(ctx context.Context, n peer.Notification, _ ...peer.CallOption) error {
	if route, ok := o.mux.Route(n.Method()); ok {
		_, err := route.Serve(ctx, n)
		return err
	}
	return nil
}

// greeter is a server with a tool and a list of two pages.
type greeter struct{}

func (greeter) CallTool(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ Name string }
	if err := json.Unmarshal(req.Arguments, &in); err != nil {
		return mcp.ErrorResult(err.Error()), nil
	}
	return mcp.TextResult("Hello, " + in.Name), nil
}

func (greeter) ListTools(_ context.Context, req *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
	if req.Cursor == nil {
		next := "2"
		return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "greet"}, {Name: "wave"}}, NextCursor: &next}, nil
	}
	return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "leave"}}}, nil
}

// newServer returns a connection to a greeter.
func newServer() peer.Outbound {
	var mux peer.Mux
	mcp.HandleServer(&mux, greeter{})
	return inProcess{&mux}
}

// The type of the request determines the type of the result.
func Example_sendRequest() {
	out := newServer() // any connection to the peer
	res, err := peer.SendRequest(context.Background(), out, &mcp.CallToolRequest{
		Name:      "greet",
		Arguments: json.RawMessage(`{"name":"gopher"}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(mcp.TextOf(res.Content))
	// Output: Hello, gopher
}

// A union is an interface. Its implementations are pointer types.
func ExampleContentBlock() {
	for _, block := range []mcp.ContentBlock{
		mcp.Text("hello"),
		mcp.Image([]byte{1, 2, 3}, "image/png"),
		&mcp.ResourceLink{Name: "notes", URI: "file:///notes.txt"},
		&mcp.UnknownContentBlock{Raw: json.RawMessage(`{"type":"hologram"}`)},
	} {
		switch block := block.(type) {
		case *mcp.TextContent:
			fmt.Println("text:", block.Text)
		case *mcp.ImageContent:
			fmt.Println("image:", block.MIMEType, len(block.Data))
		case *mcp.ResourceLink:
			fmt.Println("link:", block.URI)
		case *mcp.UnknownContentBlock:
			fmt.Println("unknown:", string(block.Raw))
		}
	}
	// Output:
	// text: hello
	// image: image/png 3
	// link: file:///notes.txt
	// unknown: {"type":"hologram"}
}

// A peer implements all handlers, so that one line of code forwards all messages.
func ExampleHandleServer_gateway() {
	upstream := newServer()
	var mux peer.Mux
	mcp.HandleServer(&mux, mcp.ServerPeer{Outbound: upstream})

	gateway := mcp.ServerPeer{Outbound: inProcess{&mux}}
	res, err := gateway.CallTool(context.Background(), &mcp.CallToolRequest{Name: "greet", Arguments: json.RawMessage(`{"name":"you"}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(mcp.TextOf(res.Content))
	// Output: Hello, you
}

// The iterator requests further pages while the loop runs.
func ExampleServerPeer_ListToolsAll() {
	server := mcp.ServerPeer{Outbound: newServer()}
	for tool, err := range server.ListToolsAll(context.Background(), nil) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(tool.Name)
	}
	// Output:
	// greet
	// wave
	// leave
}

// Encoding depends on the revision: it omits members that the revision does not have, and
// adds defaults for members that the revision requires.
func Example_revisions() {
	result := &mcp.CallToolResult{
		Content:           []mcp.ContentBlock{mcp.Text("3")},
		StructuredContent: json.RawMessage(`{"sum":3}`),
	}
	for _, revision := range []wire.Revision{mcp.Revision20250326, mcp.Revision20250618, mcp.Revision20260728} {
		data, err := wire.Append(nil, &wire.Frame{Revision: revision}, result)
		fmt.Println(revision, string(data), err)
	}
	_, err := wire.Append(nil, &wire.Frame{Revision: mcp.Revision20241105}, &mcp.CallToolResult{Content: []mcp.ContentBlock{mcp.Audio(nil, "audio/wav")}})
	fmt.Println(err)
	// Output:
	// 2025-03-26 {"content":[{"type":"text","text":"3"}]} <nil>
	// 2025-06-18 {"content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3}} <nil>
	// 2026-07-28 {"resultType":"complete","content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3}} <nil>
	// encode /content/0 for 2024-11-05: revision has no ContentBlock with type "audio"
}

// Decoding depends on the revision too. An error contains a pointer to the invalid value.
func Example_decode() {
	frame := &wire.Frame{Revision: mcp.Revision20260728}
	var tool mcp.Tool
	err := wire.Decode([]byte(`{"name":"greet","inputSchema":{"type":"object"},"color":"red"}`), frame, &tool)
	fmt.Println(tool.Name, string(tool.Extra["color"]), err)

	err = wire.Decode([]byte(`{"name":"greet","inputSchema":{"type":"object"},"icons":[{"src":1}]}`), frame, new(mcp.Tool))
	if invalid, ok := errors.AsType[*wire.DecodeError](err); ok {
		fmt.Println(invalid)
	}
	// Output:
	// greet "red" <nil>
	// decode /icons/0/src: want a string, have a number
}

// All types work with encoding/json, in a form that has the members of all revisions.
func Example_encodingJSON() {
	data, err := json.Marshal(mcp.Tool{Name: "greet", Title: "Greets", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}})
	fmt.Println(string(data), err)

	var tool mcp.Tool
	err = json.Unmarshal([]byte(`{"name":"wave","inputSchema":{"type":"object"}}`), &tool)
	fmt.Println(tool.Name, err)
	// Output:
	// {"name":"greet","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"},"title":"Greets"} <nil>
	// wave <nil>
}

// ErrorFrom returns a typed error for codes whose errors have data.
func ExampleErrorFrom() {
	received := &peer.Error{Code: mcp.CodeUnsupportedProtocolVersion, Message: "Unsupported protocol version",
		Data: json.RawMessage(`{"supported":["2025-11-25"],"requested":"2026-07-28"}`)}
	err := mcp.ErrorFrom(received)
	if unsupported, ok := errors.AsType[*mcp.UnsupportedProtocolVersionError](err); ok {
		fmt.Println("try", unsupported.Supported[0])
	}
	fmt.Println(peer.AsError(err).Code)
	// Output:
	// try 2025-11-25
	// -32022
}

// TextOf returns the text blocks of a result or a message.
func ExampleTextOf() {
	res := &mcp.CallToolResult{Content: []mcp.ContentBlock{mcp.Text("mild"), mcp.Image([]byte{0}, "image/png"), mcp.Text("and dry")}}
	fmt.Println(mcp.TextOf(res.Content))
	question := mcp.UserText("Which colour?")
	fmt.Println(question.Role, "asks:", mcp.TextOf(question.Content))
	// Output:
	// mild
	// and dry
	// user asks: Which colour?
}
