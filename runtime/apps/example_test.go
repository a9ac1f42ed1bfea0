package apps_test

import (
	"context"
	"embed"
	"fmt"
	"log"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/apps"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

//go:embed testdata/chart.html
var views embed.FS

// A server whose tool is shown as a chart, and a host that finds the chart.
func Example() {
	server := mcpserver.New(mcp.Implementation{Name: "sales", Version: "1.0.0"}, &mcpserver.Options{
		Filter: apps.FilterTools("month"),
	})
	chart := apps.AddView(server, views, apps.View{URI: "ui://sales/chart", File: "testdata/chart.html"})
	mcpserver.AddTool(server, chart.Tool(&mcp.Tool{Name: "sales", Description: "Returns the sales of a year."}), sales)
	mcpserver.AddTool(server, chart.Tool(&mcp.Tool{Name: "month"}, apps.ToolVisibilityApp), sales)

	ctx := context.Background()
	opts := new(mcpclient.Options)
	apps.Declare(&opts.Capabilities)
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(server), opts)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for tool, err := range client.Tools(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		document, err := apps.ReadView(ctx, client, apps.ViewURI(tool))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tool.Name, apps.VisibleTo(tool, apps.ToolVisibilityModel), len(document.HTML) > 0)
	}
	// Output:
	// month false true
	// sales true true
}
