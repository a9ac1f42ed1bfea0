package mcpotel

import (
	"context"
	"fmt"
	"weak"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// ObserveServer adds gauges of what a server holds: sessions, requests in flight, streams, stored
// events, tasks, bytes held for clients, and refusals by limit. They are read whenever the program
// exports metrics. The provider is the one of o, or the global one; nil as o means the default options.
//
// The gauges end when stop is called, or when the server is garbage.
func ObserveServer(s *mcpserver.Server, o *Options) (stop func() error, err error) {
	provider := otel.GetMeterProvider()
	if o != nil && o.MeterProvider != nil {
		provider = o.MeterProvider
	}
	meter := provider.Meter(scope)
	refusals, err := meter.Int64ObservableCounter("mcp.server.refusals", metric.WithUnit("{refusal}"),
		metric.WithDescription("Requests that were refused and messages that were dropped, by limit."))
	if err != nil {
		return nil, fmt.Errorf("create the counter of refusals: %w", err)
	}
	instruments := []metric.Observable{refusals}
	counters := make([]metric.Int64ObservableUpDownCounter, len(gauges))
	for i, g := range gauges {
		if counters[i], err = meter.Int64ObservableUpDownCounter(g.name, metric.WithUnit(g.unit), metric.WithDescription(g.description)); err != nil {
			return nil, fmt.Errorf("create the gauge %q: %w", g.name, err)
		}
		instruments = append(instruments, counters[i])
	}
	server := weak.Make(s)
	registered, err := meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		s := server.Value()
		if s == nil {
			return nil
		}
		stats := s.Stats()
		for i, g := range gauges {
			to.ObserveInt64(counters[i], int64(g.value(&stats)))
		}
		for limit, n := range stats.Refused {
			to.ObserveInt64(refusals, n, metric.WithAttributes(attribute.String("mcp.limit", limit)))
		}
		return nil
	}, instruments...)
	if err != nil {
		return nil, fmt.Errorf("register the gauges of a server: %w", err)
	}
	return registered.Unregister, nil
}

// gauge is a number of [mcpserver.Stats].
type gauge struct {
	name, unit, description string
	value                   func(*mcpserver.Stats) int
}

var gauges = []gauge{
	{"mcp.server.sessions", "{session}", "Sessions over HTTP, and clients that are connected in another way.", func(s *mcpserver.Stats) int { return s.Sessions }},
	{"mcp.server.requests", "{request}", "Requests that are being handled.", func(s *mcpserver.Stats) int { return s.Requests }},
	{"mcp.server.streams", "{stream}", "Open streams over HTTP that belong to no other request.", func(s *mcpserver.Stats) int { return s.Streams }},
	{"mcp.server.events", "{event}", "Events that are stored for clients.", func(s *mcpserver.Stats) int { return s.Events }},
	{"mcp.server.events.size", "By", "Size of the events that are stored for clients.", func(s *mcpserver.Stats) int { return s.EventBytes }},
	{"mcp.server.tasks", "{task}", "Stored tasks.", func(s *mcpserver.Stats) int { return s.Tasks }},
	{"mcp.server.held", "By", "Bytes that are held for clients.", func(s *mcpserver.Stats) int { return s.HeldBytes }},
}
