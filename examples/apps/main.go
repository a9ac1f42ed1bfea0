// Command apps serves sales figures over HTTP, which hosts with MCP Apps show as a chart. A click
// on a month calls a tool that only the chart can call. Apps prints its URL:
//
//	go run ./examples/apps [-addr=127.0.0.1:8080]
package main

import (
	"context"
	"embed"
	"flag"
	"fmt"
	"log"
	"net"
	"strings"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/apps"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

//go:embed chart.html
var files embed.FS

func newServer() *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "sales", Version: "1.0.0"}, &mcpserver.Options{
		Filter: apps.FilterTools("sales_of_month"), // other clients would show it to the model
	})
	chart := apps.AddView(server, files, apps.View{URI: "ui://sales/chart", File: "chart.html", Title: "Sales"})
	mcpserver.AddTool(server, chart.Tool(&mcp.Tool{
		Name:        "sales",
		Description: "Returns the sales of each month of a year.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}), salesOfYear)
	mcpserver.AddTool(server, chart.Tool(&mcp.Tool{
		Name:        "sales_of_month",
		Description: "Returns the sales of each week of a month.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, apps.ToolVisibilityApp), salesOfMonth)
	return server
}

type yearInput struct {
	Year int `json:"year" minimum:"2000" maximum:"2100" jsonschema:"the year"`
}

type monthInput struct {
	yearInput
	Month int `json:"month" minimum:"1" maximum:"12" jsonschema:"the number of the month"`
}

// figures are shown as a chart.
type figures struct {
	Title string   `json:"title"`
	Names []string `json:"names"`
	Sales []int    `json:"sales"`
}

// ModelText returns the text of a result, for the model and for clients without views.
func (f figures) ModelText() string {
	parts := make([]string, len(f.Names))
	for i, name := range f.Names {
		parts[i] = fmt.Sprintf("%s %d", name, f.Sales[i])
	}
	return f.Title + ": " + strings.Join(parts, ", ")
}

func salesOfYear(_ context.Context, _ *mcp.ServerSession, in yearInput) (figures, error) {
	f := figures{Title: fmt.Sprintf("Sales of %d", in.Year)}
	for month := time.January; month <= time.December; month++ {
		total := 0
		for week := range weeks {
			total += sold(in.Year, int(month), week)
		}
		f.Names, f.Sales = append(f.Names, month.String()[:3]), append(f.Sales, total)
	}
	return f, nil
}

func salesOfMonth(_ context.Context, _ *mcp.ServerSession, in monthInput) (figures, error) {
	f := figures{Title: fmt.Sprintf("Sales of %s %d", time.Month(in.Month), in.Year)}
	for week := range weeks {
		f.Names, f.Sales = append(f.Names, fmt.Sprint("Week ", week+1)), append(f.Sales, sold(in.Year, in.Month, week))
	}
	return f, nil
}

const weeks = 4

// sold returns invented sales of a week.
func sold(year, month, week int) int { return 10 + (year*7+month*5+week*11)%17 }

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "the address to listen on")
	flag.Parse()
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s/mcp\n", l.Addr())
	log.Fatal(streamable.NewHTTPServer("", streamable.NewHandler(newServer(), nil)).Serve(l))
}
