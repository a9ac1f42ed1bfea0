// Package apps implements MCP Apps, the extension "io.modelcontextprotocol/ui": servers with
// views that a host shows in its conversations.
//
// A view is an HTML file that a server publishes as a resource. A tool refers to the view in its
// metadata. If a model calls the tool, the host shows the view in a sandboxed frame and sends it
// the arguments and the result of the call. The view can call tools of its server through the
// host.
//
// # Servers
//
// [AddView] publishes a view, and [View.Tool] makes a tool refer to it:
//
//	//go:embed chart.html
//	var files embed.FS
//
//	server := mcpserver.New(info, nil)
//	chart := apps.AddView(server, files, apps.View{URI: "ui://sales/chart", File: "chart.html"})
//	mcpserver.AddTool(server, chart.Tool(&mcp.Tool{Name: "sales"}), sales)
//	mcpserver.AddTool(server, chart.Tool(&mcp.Tool{Name: "month"}, apps.ToolVisibilityApp), month)
//
// The model cannot call the second tool, only the view can. [FilterTools] hides such tools from
// clients without views. Those clients show the text of a result, so each result needs text:
// results of typed tools have it. [Supported] reports whether the client of a request shows views.
//
// [Check] finds the errors of an app in a test.
//
// # Hosts
//
// A client declares that it shows views with [Declare]. [ViewURI] returns the view of a tool,
// [ReadView] reads it, and [VisibleTo] reports who may call a tool. [Document.Policy] is the
// Content-Security-Policy with which the host must show the view.
package apps
