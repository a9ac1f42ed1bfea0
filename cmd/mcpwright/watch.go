package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

var watchCommand = command{
	name: "watch", usage: "[flags] SERVER [URI]...",
	summary: "Print changes of resources and of the server's lists as they happen.",
	example: "mcpwright watch -for 1s demo://resource/static/document/features.md -- npx -y @modelcontextprotocol/server-everything",
	help:    "Without a URI, only changes of lists are printed. With -json, each change is a JSON document on a line of its own. Ctrl-C ends the command, with the status 0.",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		var w watch
		w.connection.define(fs)
		fs.IntVar(&w.n, "n", 0, "end after this `number` of changes")
		fs.DurationVar(&w.limit, "for", 0, "end after this `time`")
		return w.run
	},
}

// watch is the subcommand watch.
type watch struct {
	connection
	n     int
	limit time.Duration
}

// change is one line of the output.
type change struct {
	Time time.Time `json:"time"`
	Kind string    `json:"kind"` // resource, tools, resources or prompts
	URI  string    `json:"uri,omitempty"`
}

func (w *watch) run(ctx context.Context, e *environment, args arguments) error {
	s, err := w.takeServer(e, &args)
	if err != nil {
		return err
	}
	changes := make(chan change, 100)
	add := func(ctx context.Context, c change) error {
		c.Time = time.Now()
		select {
		case changes <- c:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	client, err := w.connect(ctx, e, s, &mcpclient.Options{
		Restarts: -1,
		OnToolListChanged: func(ctx context.Context, _ *mcp.ToolListChangedNotification) error {
			return add(ctx, change{Kind: "tools"})
		},
		OnPromptListChanged: func(ctx context.Context, _ *mcp.PromptListChangedNotification) error {
			return add(ctx, change{Kind: "prompts"})
		},
		OnResourceListChanged: func(ctx context.Context, _ *mcp.ResourceListChangedNotification) error {
			return add(ctx, change{Kind: "resources"})
		},
	})
	if err != nil {
		return err
	}
	defer client.Close()
	if w.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.limit)
		defer cancel()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	if len(args.words) > 0 {
		go func() { // ends with ctx, or with the client
			for uri, err := range client.Watch(ctx, args.words...) {
				if err != nil {
					failed <- err
					return
				}
				_ = add(ctx, change{Kind: "resource", URI: uri})
			}
		}()
	}
	err = w.print(ctx, e, client, changes, failed)
	if err != nil {
		return e.failed(&w.connection, "watch "+s.name, err)
	}
	return nil
}

// print prints changes until the user or a limit ends it.
func (w *watch) print(ctx context.Context, e *environment, client *mcpclient.Client, changes <-chan change, failed <-chan error) error {
	for printed := 0; w.n == 0 || printed < w.n; printed++ {
		select {
		case c := <-changes:
			if err := w.printChange(e, c); err != nil {
				return err
			}
		case err := <-failed:
			if ctx.Err() != nil {
				return nil
			}
			return err
		case <-client.Done():
			if ctx.Err() != nil {
				return nil
			}
			return errors.Join(errors.New("the server has ended the connection"), client.Err())
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

func (w *watch) printChange(e *environment, c change) error {
	if w.json {
		data, err := json.Marshal(c)
		if err != nil {
			return err
		}
		_, err = e.out.Write(append(data, '\n'))
		return err
	}
	text := c.Kind + " changed"
	if c.URI != "" {
		text = c.URI
	}
	e.out.Println(fmt.Sprintf("%s  %s", c.Time.Format(time.TimeOnly), text))
	return nil
}
