package docs

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/apps"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

func TestPageHasTheViewOfItsProgram(t *testing.T) {
	page, err := os.ReadFile("apps.md")
	require.NoError(t, err)
	view, err := os.ReadFile("testdata/apps/dice.html")
	require.NoError(t, err)
	require.Contains(t, string(page), "\n```html dice.html\n"+string(view)+"```\n")
}

var mapFiles = fstest.MapFS{"map.html": {Data: []byte("<!doctype html><title>Map</title>")}}

type place struct {
	Name string `json:"name" default:"Bern"`
}

func showPlace(_ context.Context, s *mcp.ServerSession, in place) (string, error) {
	if !apps.Supported(s) {
		return in.Name + ": https://maps.example.com/" + in.Name, nil
	}
	return "The user has the map of " + in.Name + " on the screen.", nil
}

// newMapServer has a view that loads images, and a tool that only the view calls.
func newMapServer() *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "maps", Version: "1.0.0"}, &mcpserver.Options{
		Filter: apps.FilterTools("tiles"),
	})
	view := apps.AddView(server, mapFiles, apps.View{
		URI: "ui://maps/map", File: "map.html",
		Meta: apps.ResourceMeta{
			CSP:           &apps.ResourceCSP{ResourceDomains: []string{"https://tiles.example.com"}},
			PrefersBorder: true,
		},
	})
	mcpserver.AddTool(server, view.Tool(&mcp.Tool{Name: "map"}), showPlace)
	mcpserver.AddTool(server, view.Tool(&mcp.Tool{Name: "tiles"}, apps.ToolVisibilityApp), showPlace)
	return server
}

// connectHost connects a client that shows views.
func connectHost(ctx context.Context, server mcpclient.Endpoint) (*mcpclient.Client, error) {
	opts := new(mcpclient.Options)
	apps.Declare(&opts.Capabilities)
	return mcpclient.Connect(ctx, server, opts)
}

func TestApp(t *testing.T) {
	client, err := connectHost(t.Context(), mcpclient.InProcess(newMapServer()))
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, apps.Check(t.Context(), client))
}

// A host reads the view of a tool, calls the tool, and serves the view to a frame.
func Example_host() {
	ctx := context.Background()
	client, err := connectHost(ctx, mcpclient.InProcess(newMapServer()))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for tool, err := range client.Tools(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if apps.VisibleTo(tool, apps.ToolVisibilityModel) {
			fmt.Println(tool.Name, "has the view", apps.ViewURI(tool))
		}
	}

	view, err := apps.ReadView(ctx, client, "ui://maps/map")
	if err != nil {
		log.Fatal(err)
	}
	frame := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "sandbox allow-scripts; "+view.Policy())
		fmt.Fprint(w, view.HTML)
	}
	response := httptest.NewRecorder()
	frame(response, httptest.NewRequest("GET", "/view", nil))
	for directive := range strings.SplitSeq(response.Header().Get("Content-Security-Policy"), "; ") {
		if strings.HasPrefix(directive, "img-src") {
			fmt.Println(directive)
		}
	}
	// Output:
	// map has the view ui://maps/map
	// img-src data: https://tiles.example.com
}
