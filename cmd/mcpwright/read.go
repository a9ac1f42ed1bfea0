package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/mcpwright/mcp/generated/mcp"
)

var readCommand = command{
	name: "read", usage: "[flags] SERVER URI",
	summary: "Read a resource.",
	example: "mcpwright read demo://resource/static/document/features.md -- npx -y @modelcontextprotocol/server-everything",
	help:    "Text is written to standard output. Bytes are written there too, unless it is a terminal: then they are saved in a file.",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		var r readResource
		r.connection.define(fs)
		r.answers.define(fs)
		fs.StringVar(&r.file, "o", "", "write the contents to this `file`")
		return r.run
	},
}

// readResource is the subcommand read.
type readResource struct {
	connection
	answers answers
	file    string
}

func (r *readResource) run(ctx context.Context, e *environment, args arguments) error {
	s, err := r.takeServer(e, &args)
	if err != nil {
		return err
	}
	if len(args.words) != 1 {
		return usagef("give one URI; mcpwright list shows the resources")
	}
	uri := args.words[0]
	opts, err := r.answers.options(e)
	if err != nil {
		return err
	}
	client, err := r.connect(ctx, e, s, opts)
	if err != nil {
		return err
	}
	defer client.Close()
	res, err := client.ReadResource(ctx, &mcp.ReadResourceRequest{URI: uri})
	if err != nil {
		return e.failed(&r.connection, fmt.Sprintf("read resource %q of %s", uri, s.name), err)
	}
	return r.print(e, res)
}

// print writes the contents of a resource.
func (r *readResource) print(e *environment, res *mcp.ReadResourceResult) error {
	if r.json {
		return e.printJSON(res)
	}
	if r.file == "" && e.out.IsTerminal() {
		files := new(saver)
		for _, contents := range res.Contents {
			if err := e.printResource(files, contents); err != nil {
				return err
			}
		}
		return nil
	}
	var data []byte
	for _, contents := range res.Contents {
		switch c := contents.(type) {
		case *mcp.TextResourceContents:
			data = append(data, c.Text...)
		case *mcp.BlobResourceContents:
			data = append(data, c.Blob...)
		}
	}
	if r.file != "" {
		return os.WriteFile(r.file, data, 0o644)
	}
	_, err := e.out.Write(data)
	return err
}
