// Package health has HTTP handlers for the operators of a server: whether it accepts requests, what it
// holds, and what its sessions wait for.
//
//	mux := http.NewServeMux()
//	mux.Handle("/mcp", streamable.NewHandler(server, nil))
//	mux.Handle("/livez", health.Live())
//	mux.Handle("/readyz", health.Ready(server))
//
// The handlers [Metrics] and [Sessions] are for operators only. Serve them at another address, or
// behind a guard.
package health

import (
	"context"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// Live returns a handler that responds with status 200 for as long as the program runs, also while a
// server shuts down: a program that finishes its last requests must not be killed.
func Live() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { respond(w, http.StatusOK, "live") })
}

// Check reports why a program cannot serve requests at the moment, for example because its database
// does not respond. It returns nil if it can.
type Check func(ctx context.Context) error

// Ready returns a handler that responds with status 200 if the server accepts requests and all checks
// succeed, and with 503 otherwise. It responds with 503 as soon as [mcpserver.Server.Shutdown] has
// begun, so that a balancer sends no more requests. The response contains the error of a check.
func Ready(s *mcpserver.Server, checks ...Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.ShuttingDown() {
			respond(w, http.StatusServiceUnavailable, "server is shutting down")
			return
		}
		for _, check := range checks {
			if err := check(r.Context()); err != nil {
				respond(w, http.StatusServiceUnavailable, err.Error())
				return
			}
		}
		respond(w, http.StatusOK, "ready")
	})
}

func respond(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// metric is a number that Prometheus reads.
type metric struct {
	name, kind, help string
	value            func(mcpserver.Stats) int
}

var metrics = []metric{
	{"mcp_server_sessions", "gauge", "Sessions over HTTP, and clients that are connected in another way.", func(s mcpserver.Stats) int { return s.Sessions }},
	{"mcp_server_requests", "gauge", "Requests that are being handled.", func(s mcpserver.Stats) int { return s.Requests }},
	{"mcp_server_streams", "gauge", "Open streams over HTTP that belong to no other request.", func(s mcpserver.Stats) int { return s.Streams }},
	{"mcp_server_events", "gauge", "Events that are stored for clients.", func(s mcpserver.Stats) int { return s.Events }},
	{"mcp_server_events_size_bytes", "gauge", "Bytes of the events that are stored for clients.", func(s mcpserver.Stats) int { return s.EventBytes }},
	{"mcp_server_tasks", "gauge", "Stored tasks.", func(s mcpserver.Stats) int { return s.Tasks }},
	{"mcp_server_held_bytes", "gauge", "Bytes that are held for clients.", func(s mcpserver.Stats) int { return s.HeldBytes }},
}

// Metrics returns a handler that responds with [mcpserver.Server.Stats] as text that Prometheus reads. A
// program with OpenTelemetry uses the module otel in its place, whose metrics have the same names.
func Metrics(s *mcpserver.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stats := s.Stats()
		var text strings.Builder
		for _, m := range metrics {
			fmt.Fprintf(&text, "# HELP %s %s\n# TYPE %[1]s %[3]s\n%[1]s %[4]d\n", m.name, m.help, m.kind, m.value(stats))
		}
		const refusals = "mcp_server_refusals_total"
		fmt.Fprintf(&text, "# HELP %s Requests that were refused and messages that were dropped, by limit.\n# TYPE %[1]s counter\n", refusals)
		for _, limit := range slices.Sorted(maps.Keys(stats.Refused)) {
			fmt.Fprintf(&text, "%s{mcp_limit=%q} %d\n", refusals, limit, stats.Refused[limit])
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		fmt.Fprint(w, text.String())
	})
}

// maxSessions limits the sessions on the page.
const maxSessions = 1000

// Sessions returns a handler that responds with a page of the sessions and the requests that each is
// handling. The page contains names of principals and tools, but no arguments, and only the beginning of a
// session's id.
func Sessions(s *mcpserver.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		list := s.Sessions()
		slices.SortFunc(list, func(a, b connection.SessionInfo) int { return compare(&a, &b) })
		data := page{Stats: s.Stats(), ShuttingDown: s.ShuttingDown(), Total: len(list)}
		for _, info := range list[:min(len(list), maxSessions)] {
			data.Sessions = append(data.Sessions, newRow(&info))
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		w.Header().Set("Cache-Control", "no-store")
		_ = layout.Execute(w, data) // fails only if the browser is gone
	})
}

// compare orders sessions: first those with the most requests.
func compare(a, b *connection.SessionInfo) int {
	if n := len(b.Requests) - len(a.Requests); n != 0 {
		return n
	}
	return strings.Compare(a.Principal+" "+a.ID, b.Principal+" "+b.ID)
}

// page is the data of the page.
type page struct {
	Stats        mcpserver.Stats
	ShuttingDown bool
	Total        int
	Sessions     []row
}

// row is a session on the page.
type row struct {
	ID, Principal, Client, Revision, Idle string
	Requests                              []string
}

func newRow(info *connection.SessionInfo) row {
	r := row{ID: info.ID, Principal: info.Principal, Revision: info.Revision.String()}
	if len(r.ID) > 6 {
		r.ID = r.ID[:6] + "…"
	}
	if info.Client != nil {
		r.Client = info.Client.Name + " " + info.Client.Version
	}
	if info.Idle > 0 {
		r.Idle = info.Idle.Round(time.Second).String()
	}
	for _, request := range info.Requests {
		text := strings.TrimSpace(request.Method + " " + request.Name)
		if request.Asks {
			text += " (waits for the client)"
		}
		r.Requests = append(r.Requests, text)
	}
	slices.Sort(r.Requests)
	return r
}

var layout = template.Must(template.New("sessions").Parse(`<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>Sessions</title>
<style>
:root { color-scheme: light dark; font: 14px system-ui, sans-serif }
table { border-collapse: collapse }
th, td { padding: 0.3em 0.8em; text-align: left; vertical-align: top; border-bottom: 1px solid #8886 }
</style>
<h1>Sessions</h1>
{{if .ShuttingDown}}<p><strong>The server is shutting down.</strong></p>{{end}}
<p>{{.Stats.Sessions}} sessions, {{.Stats.Requests}} requests in flight, {{.Stats.Streams}} streams, {{.Stats.Events}} stored events
({{.Stats.EventBytes}} bytes), {{.Stats.Tasks}} tasks, {{.Stats.HeldBytes}} bytes held.</p>
{{with .Stats.Refused}}<p>Refused because of a limit: {{range $limit, $n := .}}{{$limit}} {{$n}} {{end}}</p>{{end}}
<table>
<tr><th>session</th><th>principal</th><th>client</th><th>revision</th><th>idle</th><th>requests</th></tr>
{{range .Sessions}}<tr><td>{{.ID}}</td><td>{{.Principal}}</td><td>{{.Client}}</td><td>{{.Revision}}</td><td>{{.Idle}}</td><td>{{range .Requests}}{{.}}<br>{{end}}</td></tr>
{{end}}</table>
{{if gt .Total (len .Sessions)}}<p>{{len .Sessions}} of {{.Total}} sessions are shown.</p>{{end}}
</html>
`))
