package interop

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A client is the client of an SDK. Its user is called Ada, its model always returns "blue", and its only
// root is file:///project.
type client interface {
	// version returns the negotiated revision.
	version() string
	server() string
	tools(ctx context.Context) ([]string, error)
	// call returns the text of a tool's result, and whether it is an error.
	call(ctx context.Context, tool string, arguments map[string]any) (string, bool, error)
	// progress calls a tool and returns the progress that it reported.
	progress(ctx context.Context, tool string) ([]float64, error)
	// logged calls a tool and returns its log messages.
	logged(ctx context.Context, tool string) ([]string, error)
	resources(ctx context.Context) ([]string, error)
	read(ctx context.Context, uri string) (string, error)
	prompt(ctx context.Context, name string, arguments map[string]string) (string, error)
	complete(ctx context.Context, prompt, argument, value string) ([]string, error)
	// watch subscribes to a resource and returns a channel that receives its URI after each change.
	watch(ctx context.Context, uri string) (<-chan string, error)
	// code returns the code of a protocol error, or 0 for other errors.
	code(err error) int64
	close() error
}

// Every server of these tests has the same tools, resource, template and prompt.
const (
	serverName = "interop"
	noteURI    = "mem://note"
	noteText   = "a note"
)

var toolNames = []string{"ask", "both", "count", "fail", "greet", "log", "roots", "sample", "touch", "wait"}

// tour uses all features of a server, except the tools for which skip returns true.
func tour(t *testing.T, c client, revision string, skip func(tool string) bool) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.Equal(t, revision, c.version())
	require.Equal(t, serverName, c.server())

	t.Run("tools", func(t *testing.T) { tools(ctx, t, c) })
	t.Run("requests to the client", func(t *testing.T) { clientRequests(ctx, t, c, revision, skip) })
	t.Run("notifications", func(t *testing.T) { notifications(ctx, t, c) })
	t.Run("resources", func(t *testing.T) { resources(ctx, t, c, revision) })
	t.Run("prompts", func(t *testing.T) { prompts(ctx, t, c) })
	t.Run("cancellation", func(t *testing.T) { cancellation(ctx, t, c) })
}

func tools(ctx context.Context, t *testing.T, c client) {
	names, err := c.tools(ctx)
	require.NoError(t, err)
	require.ElementsMatch(t, toolNames, names)

	text, failed, err := c.call(ctx, "greet", map[string]any{"name": "gopher"})
	require.NoError(t, err)
	require.False(t, failed)
	require.Equal(t, "Hello, gopher", text)

	text, failed, err = c.call(ctx, "fail", nil)
	require.NoError(t, err)
	require.True(t, failed)
	require.Contains(t, text, "no such luck")

	_, failed, err = c.call(ctx, "greet", map[string]any{"name": 7})
	require.NoError(t, err)
	require.True(t, failed, "arguments are validated by the schema")

	_, _, err = c.call(ctx, "absent", nil)
	require.EqualValues(t, -32602, c.code(err), "%v", err)
}

// clientRequests uses elicitation (since 2025-06-18), sampling and roots: each in its own call, and two
// in one call.
func clientRequests(ctx context.Context, t *testing.T, c client, revision string, skip func(tool string) bool) {
	wants := map[string]string{"sample": "the model says blue", "roots": "file:///project"}
	if revision >= "2025-06-18" {
		wants["ask"], wants["both"] = "Hello, Ada", "Ada likes blue"
	}
	for tool, want := range wants {
		if skip(tool) {
			continue
		}
		text, failed, err := c.call(ctx, tool, nil)
		require.NoError(t, err)
		require.False(t, failed, text)
		require.Equal(t, want, text)
	}
}

func notifications(ctx context.Context, t *testing.T, c client) {
	steps, err := c.progress(ctx, "count")
	require.NoError(t, err)
	require.Equal(t, []float64{1, 2, 3}, steps)

	lines, err := c.logged(ctx, "log")
	require.NoError(t, err)
	require.Equal(t, []string{"something happened"}, lines)
}

func resources(ctx context.Context, t *testing.T, c client, revision string) {
	uris, err := c.resources(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{noteURI}, uris)

	for uri, want := range map[string]string{noteURI: noteText, "mem://page/7": "page 7"} {
		text, err := c.read(ctx, uri)
		require.NoError(t, err)
		require.Equal(t, want, text)
	}
	_, err = c.read(ctx, "mem://absent")
	codes := []int64{-32002, -32602} // the official SDK uses the newer code in every revision
	if revision >= "2026-07-28" {
		codes = codes[1:]
	}
	require.Contains(t, codes, c.code(err), "%v", err)

	changes, err := c.watch(ctx, noteURI)
	require.NoError(t, err)
	for notified := false; !notified; { // repeated, because some clients subscribe after watch returns
		_, _, err = c.call(ctx, "touch", nil)
		require.NoError(t, err)
		select {
		case uri := <-changes:
			require.Equal(t, noteURI, uri)
			notified = true
		case <-time.After(100 * time.Millisecond):
		}
		require.NoError(t, ctx.Err(), "no notification of the change arrived")
	}
}

func prompts(ctx context.Context, t *testing.T, c client) {
	text, err := c.prompt(ctx, "advise", map[string]string{"topic": "tests"})
	require.NoError(t, err)
	require.Equal(t, "Advise me on tests", text)

	values, err := c.complete(ctx, "advise", "topic", "te")
	require.NoError(t, err)
	require.Equal(t, []string{"tea", "tests"}, values)
}

// cancellation cancels a call, and checks that the server still works.
func cancellation(ctx context.Context, t *testing.T, c client) {
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	_, _, err := c.call(short, "wait", nil)
	require.Error(t, err)
	text, _, err := c.call(ctx, "greet", map[string]any{"name": "again"})
	require.NoError(t, err)
	require.Equal(t, "Hello, again", text)
}
