package main

import (
	"context"
	"flag"
	"slices"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

var pingCommand = command{
	name: "ping", usage: "[flags] SERVER",
	summary: "Measure how long a server takes to respond.",
	example: "mcpwright ping -n 5 https://example.com/mcp",
	help:    "The request is ping, and server/discover in revisions without ping.",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		var p ping
		p.connection.define(fs)
		fs.IntVar(&p.n, "n", 1, "send this `number` of requests, one after another")
		return p.run
	},
}

// ping is the subcommand ping.
type ping struct {
	connection
	n int
}

func (p *ping) run(ctx context.Context, e *environment, args arguments) error {
	s, err := p.takeServer(e, &args)
	if err != nil {
		return err
	}
	if len(args.words) > 0 || p.n < 1 {
		return usagef("give one server, and a number of at least 1")
	}
	begun := time.Now()
	client, err := p.connect(ctx, e, s, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	connected := time.Since(begun)
	var times []time.Duration
	for range p.n {
		begun := time.Now()
		if err := send(ctx, client); err != nil {
			return e.failed(&p.connection, "ping "+s.name, err)
		}
		times = append(times, time.Since(begun))
	}
	return p.print(e, connected, times)
}

// send sends the request that does least.
func send(ctx context.Context, client *mcpclient.Client) (err error) {
	if client.NoHandshake() {
		_, err = client.Uncached().Discover(ctx, &mcp.DiscoverRequest{})
	} else {
		_, err = client.Ping(ctx, &mcp.PingRequest{})
	}
	return err
}

func (p *ping) print(e *environment, connected time.Duration, times []time.Duration) error {
	milliseconds := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	if p.json {
		list := make([]float64, 0, len(times))
		for _, d := range times {
			list = append(list, milliseconds(d))
		}
		return e.printJSON(map[string]any{"connectMs": milliseconds(connected), "responseMs": list})
	}
	e.out.Printf("connected in %.1f ms\n", milliseconds(connected))
	for _, d := range times {
		e.out.Printf("response in %.1f ms\n", milliseconds(d))
	}
	if len(times) > 1 {
		slices.Sort(times)
		e.out.Printf("median %.1f ms\n", milliseconds(times[len(times)/2]))
	}
	return nil
}
