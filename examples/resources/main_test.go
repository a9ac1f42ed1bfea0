package main

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
)

func TestNotesAreReadAndWatchedInEveryRevision(t *testing.T) {
	for _, r := range mcp.Revisions {
		t.Run(r.Revision.String(), func(t *testing.T) {
			client, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(newServer()), &mcpclient.Options{Revision: r.Revision})
			require.NoError(t, err)
			defer client.Close()
			todo, err := read(t, client, "notes://note/todo")
			require.NoError(t, err)
			require.Equal(t, "buy milk", todo)
			_, err = read(t, client, "notes://note/none")
			require.NotZero(t, peer.AsError(err).Code)

			news := watch(t, client, index)
			for name, heard := "idea", false; !heard; name += "a" { // nobody tells when watching has begun
				_, err := mcpclient.CallTool[*mcp.CallToolResult](t.Context(), client, "write", writing{name, "a garden"})
				require.NoError(t, err)
				runtime.Gosched()
				select {
				case uri := <-news:
					require.Equal(t, index, uri)
					heard = true
				default:
				}
			}
			names, err := read(t, client, index)
			require.NoError(t, err)
			require.Contains(t, names, "idea")
		})
	}
}

func read(t *testing.T, client *mcpclient.Client, uri string) (string, error) {
	res, err := client.ReadResource(t.Context(), &mcp.ReadResourceRequest{URI: uri})
	if err != nil {
		return "", err
	}
	return res.Contents[0].(*mcp.TextResourceContents).Text, nil
}

// watch tells of changes until the test is over.
func watch(t *testing.T, client *mcpclient.Client, uri string) <-chan string {
	ctx, cancel := context.WithCancel(t.Context())
	news, over := make(chan string), make(chan struct{})
	go func() { // ends with ctx
		defer close(over)
		for uri := range client.Watch(ctx, uri) {
			select {
			case news <- uri:
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-over })
	return news
}
