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

func TestReadAndWatchInEveryRevision(t *testing.T) {
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

			changes := watch(t, client, index)
			for name, notified := "idea", false; !notified; name += "a" { // repeated, because Watch may not have begun yet
				_, err := mcpclient.CallTool[*mcp.CallToolResult](t.Context(), client, "write", writeInput{name, "a garden"})
				require.NoError(t, err)
				runtime.Gosched()
				select {
				case uri := <-changes:
					require.Equal(t, index, uri)
					notified = true
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

// watch returns a channel that receives a URI whenever the resource changes, until the end of
// the test.
func watch(t *testing.T, client *mcpclient.Client, uri string) <-chan string {
	ctx, cancel := context.WithCancel(t.Context())
	changes, done := make(chan string), make(chan struct{})
	go func() { // returns when ctx ends
		defer close(done)
		for uri := range client.Watch(ctx, uri) {
			select {
			case changes <- uri:
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return changes
}
