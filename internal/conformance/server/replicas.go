package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"

	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/scale"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// replicas are the servers of a program. A tool that changes the list of tools changes it in all of them, as
// programs with several replicas must.
type replicas struct {
	mu      sync.Mutex
	servers []*mcpserver.Server
}

func (all *replicas) add(s *mcpserver.Server) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.servers = append(all.servers, s)
}

// each calls f for each server.
func (all *replicas) each(f func(*mcpserver.Server)) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, s := range all.servers {
		f(s)
	}
}

// newReplicas starts replicas that share sessions. It returns a handler that sends each request to the next
// one, and a function that ends the replicas.
func newReplicas(n int) (http.Handler, func(context.Context), error) {
	memory, all, next := new(engine.Memory), new(replicas), new(atomic.Int64)
	hosts := make([]string, n)
	var ends []func(context.Context)
	end := func(ctx context.Context) {
		for _, f := range ends {
			f(ctx)
		}
	}
	for i := range hosts {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, err
		}
		hosts[i] = listener.Addr().String()
		f, err := serveReplica(memory, all, listener)
		if err != nil {
			return nil, nil, err
		}
		ends = append(ends, f)
	}
	return withOpenBodies(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
		p.Out.URL.Scheme, p.Out.URL.Host = "http", hosts[int(next.Add(1))%n]
		p.Out.Host = p.In.Host
	}}), end, nil
}

// withOpenBodies keeps the body of each request open while the response is written. Otherwise net/http
// closes it when the response begins, perhaps before the proxy has read its end, and the proxy then
// closes the connection to the replica in the middle of the response.
func withOpenBodies(proxy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 does not need it
		proxy.ServeHTTP(w, r)
	})
}

// serveReplica serves a replica on a listener.
func serveReplica(memory *engine.Memory, all *replicas, listener net.Listener) (func(context.Context), error) {
	node, err := scale.NewNode(memory, memory, &scale.Options{
		Address: "http://" + listener.Addr().String(), Keys: [][]byte{[]byte("the key of the conformance server")},
	})
	if err != nil {
		return nil, err
	}
	tasks := *taskOptions
	tasks.NewID = node.NewTaskID
	server := newServer(&tasks, all)
	httpServer := streamable.NewHTTPServer("", node.Handler(server, &streamable.Options{Polling: true}))
	go httpServer.Serve(listener) // ends with Shutdown
	return func(ctx context.Context) {
		node.Shutdown(ctx)
		server.Shutdown(ctx)
		httpServer.Shutdown(ctx)
	}, nil
}
