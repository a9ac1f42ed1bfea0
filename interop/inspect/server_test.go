package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpwright/mcp/runtime/tasks"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// serveVariable makes the test program the MCP server. openVariable has a URL, and makes it a browser that
// follows redirects.
const (
	serveVariable = "MCPWRIGHT_INSPECT_SERVE"
	openVariable  = "MCPWRIGHT_INSPECT_OPEN"
)

func TestMain(m *testing.M) {
	if page := os.Getenv(openVariable); page != "" {
		res, err := http.Get(page)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		res.Body.Close()
		return
	}
	if os.Getenv(serveVariable) != "" {
		out := &invalidWriter{Writer: os.Stdout}
		if err := newServer().ServeStreams(context.Background(), os.Stdin, out); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	dir, err := os.MkdirTemp("", "inspect")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	folder = dir
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// folder has the command that is tested.
var folder string

// invalidWriter makes the results of the tool "invalid" invalid.
type invalidWriter struct{ io.Writer }

func (w *invalidWriter) Write(b []byte) (int, error) {
	changed := bytes.ReplaceAll(b, []byte(`{"type":"text","text":"invalid"}`), []byte(`{"type":"text","text":42}`))
	if _, err := w.Writer.Write(changed); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close implements [io.Closer].
func (w *invalidWriter) Close() error { return os.Stdout.Close() }

const orderSchema = `{
	"type": "object",
	"required": ["dish", "people", "size"],
	"properties": {
		"dish": {"type": "string", "description": "The name of a dish on the menu.", "minLength": 2},
		"people": {"type": "integer", "minimum": 1, "maximum": 20, "default": 2},
		"size": {"enum": ["small", "regular", "large"], "default": "regular"},
		"spicy": {"type": "boolean", "description": "Adds chili."},
		"extras": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
		"note": {"type": ["string", "null"], "description": "A note for the kitchen."},
		"deliver": {
			"type": "object",
			"description": "Where to bring the dish. Without it, the guest eats here.",
			"required": ["street"],
			"properties": {"street": {"type": "string"}, "floor": {"type": "number"}}
		}
	}
}`

// dish is a picture of a plate.
var dish = func() []byte {
	const size = 160
	picture := image.NewRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			c := color.RGBA{235, 226, 210, 255} // the table
			switch d := math.Hypot(float64(x-size/2), float64(y-size/2)); {
			case d < 30 && (x+y)%9 < 5:
				c = color.RGBA{226, 160, 63, 255}
			case d < 34:
				c = color.RGBA{214, 122, 44, 255}
			case d < 46:
				c = color.RGBA{244, 244, 246, 255}
			case d < 64:
				c = color.RGBA{255, 255, 255, 255}
			case d < 67:
				c = color.RGBA{208, 212, 220, 255}
			}
			picture.Set(x, y, c)
		}
	}
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, picture); err != nil {
		panic(err) // a picture in memory can be encoded
	}
	return encoded.Bytes()
}()

// kitchen is the state of the server.
type kitchen struct {
	server *mcpserver.Server
	mu     sync.Mutex // guards menu
	menu   []string
}

const menuURI = "kitchen://menu"

// newServer returns a server with all that the page can show.
func newServer() *mcpserver.Server {
	s := mcpserver.New(mcp.Implementation{Name: "kitchen", Title: "Kitchen", Version: "1.2.3"}, &mcpserver.Options{
		Instructions: "Read the menu before you order.",
		Tasks:        &tasks.Options{StartAfter: 300 * time.Millisecond, PollInterval: 100 * time.Millisecond},
	})
	k := &kitchen{server: s, menu: []string{"soup", "risotto", "salad"}}
	k.addTools()
	k.addView()
	s.AddResource(&mcp.Resource{URI: menuURI, Name: "menu", MIMEType: "text/plain", Description: "The dishes of today."}, k.readMenu)
	s.AddResource(&mcp.Resource{URI: "kitchen://photo", Name: "photo", MIMEType: "image/png"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.BlobResourceContents{URI: "kitchen://photo", MIMEType: "image/png", Blob: dish}}}, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "kitchen://dish/{name}", Name: "dish"}, k.readDish)
	s.AddTemplateCompleter("kitchen://dish/{name}", "name", func(_ context.Context, req *mcp.CompleteRequest) ([]string, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		return slices.DeleteFunc(slices.Clone(k.menu), func(d string) bool { return !strings.HasPrefix(d, req.Argument.Value) }), nil
	})
	s.AddRawPrompt(&mcp.Prompt{Name: "recipe", Description: "Asks for a recipe.", Arguments: []mcp.PromptArgument{{Name: "dish", Required: true, Description: "the dish to cook"}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: "How do I cook " + req.Arguments["dish"] + "?"}}}}, nil
		})
	return s
}

func (k *kitchen) addTools() {
	s := k.server
	add := func(t *mcp.Tool, h mcpserver.ToolHandler) {
		if t.InputSchema == nil {
			t.InputSchema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		s.AddRawTool(t, h)
	}
	add(&mcp.Tool{Name: "order", Title: "Order a dish", Description: "Orders a dish for some people.\nThe result is the order as the kitchen has understood it.", InputSchema: json.RawMessage(orderSchema)}, k.order)
	add(&mcp.Tool{Name: "cook", Description: "Cooks for a while, and reports progress.", InputSchema: json.RawMessage(`{"type":"object","properties":{"steps":{"type":"integer","default":40},"ms":{"type":"integer","description":"milliseconds for each step","default":50}}}`)}, k.cook)
	add(&mcp.Tool{Name: "reserve", Description: "Asks for a table, and reserves it."}, k.reserve)
	add(&mcp.Tool{Name: "pay", Description: "Asks the guest to pay on a page."}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := mcp.SessionFromContext(ctx).ElicitURL(ctx, &mcp.ElicitRequestURLParams{Message: "Please pay 24 francs", URL: "https://pay.example.com/orders/7", ElicitationID: "pay-7"})
		if err != nil {
			return nil, err
		}
		return mcp.TextResult("The guest has chosen: " + string(res.Action)), nil
	})
	add(&mcp.Tool{Name: "describe", Description: "Asks the language model of the client for a description."}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := mcp.SessionFromContext(ctx).CreateMessage(ctx, &mcp.CreateMessageRequest{MaxTokens: 100, SystemPrompt: "You are a waiter.", Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: []mcp.SamplingMessageContentBlock{&mcp.TextContent{Text: "Describe the risotto."}}}}})
		if err != nil {
			return nil, err
		}
		return mcp.TextResult("The model " + res.Model + " has answered: " + mcp.TextOf(res.Content)), nil
	})
	add(&mcp.Tool{Name: "photo", Description: "Shows the dish of the day.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.ContentBlock{
			&mcp.TextContent{Text: "The dish of the day:"}, &mcp.ImageContent{Data: dish, MIMEType: "image/png"},
			&mcp.ResourceLink{URI: menuURI, Name: "menu", Description: "all dishes"},
		}}, nil
	})
	add(&mcp.Tool{Name: "add_dish", Description: "Adds a dish to the menu. Subscribers are notified.", InputSchema: json.RawMessage(`{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}`)}, k.addDish)
	add(&mcp.Tool{Name: "invalid", Description: "Returns a result that the protocol does not allow."}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.TextResult("invalid"), nil
	})
	add(&mcp.Tool{Name: "bake", Description: "Takes so long that it becomes a task.", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportOptional}}, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-time.After(time.Second):
			return mcp.TextResult("The bread is ready."), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
	add(&mcp.Tool{Name: "close", Description: "Ends the process of the server.", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(true)}}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "fatal: the kitchen is on fire")
		os.Exit(3)
		return nil, nil
	})
}

func (k *kitchen) order(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: "Thank you for your order."}}, StructuredContent: req.Arguments}, nil
}

func (k *kitchen) cook(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	in := struct{ Steps, MS int }{40, 50}
	if len(req.Arguments) > 0 {
		if err := json.Unmarshal(req.Arguments, &in); err != nil {
			return nil, err
		}
	}
	session := mcp.SessionFromContext(ctx)
	total := float64(in.Steps)
	for i := range in.Steps {
		select {
		case <-time.After(time.Duration(in.MS) * time.Millisecond):
		case <-ctx.Done():
			fmt.Fprintln(os.Stderr, "cook: the guest has left")
			return nil, context.Cause(ctx)
		}
		if err := session.ReportProgress(ctx, peer.Progress{Progress: float64(i + 1), Total: &total, Message: fmt.Sprintf("step %d", i+1)}); err != nil {
			return nil, err
		}
	}
	return mcp.TextResult("The dish is ready."), nil
}

// table is the form of the tool "reserve".
type table struct {
	Name    string `json:"name" jsonschema:"the name of the guest"`
	People  int    `json:"people"`
	Outside bool   `json:"outside,omitempty"`
}

func (k *kitchen) reserve(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	in, err := mcpserver.Elicit[table](ctx, mcp.SessionFromContext(ctx), "For whom is the table?")
	if err != nil {
		return nil, err
	}
	return mcp.TextResult(fmt.Sprintf("A table for %d people is reserved for %s.", in.People, in.Name)), nil
}

func (k *kitchen) addDish(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ Name string }
	if err := json.Unmarshal(req.Arguments, &in); err != nil {
		return nil, err
	}
	k.mu.Lock()
	k.menu = append(k.menu, in.Name)
	k.mu.Unlock()
	if err := k.server.ResourceUpdated(ctx, menuURI); err != nil {
		return nil, err
	}
	return mcp.TextResult(in.Name + " is on the menu."), nil
}

func (k *kitchen) readMenu(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: menuURI, MIMEType: "text/plain", Text: strings.Join(k.menu, "\n")}}}, nil
}

func (k *kitchen) readDish(_ context.Context, req *mcp.ReadResourceRequest, vars mcpserver.Variables) (*mcp.ReadResourceResult, error) {
	text, err := json.Marshal(map[string]string{"dish": vars.Get("name"), "price": "24 francs"})
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: req.URI, MIMEType: "application/json", Text: string(text)}}}, nil
}
