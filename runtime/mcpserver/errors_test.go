package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// failingServer returns a server whose handlers all fail with an error.
func failingServer(opts *mcpserver.Options, fail func() error) *mcpserver.Server {
	s := mcpserver.New(info, opts)
	mcpserver.AddTool(s, &mcp.Tool{Name: "t"}, func(context.Context, *mcp.ServerSession, any) (string, error) { return "", fail() })
	s.AddRawPrompt(&mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "a"}}}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return nil, fail()
	})
	s.AddResource(&mcp.Resource{URI: "x:r"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return nil, fail() })
	s.AddPromptCompleter("p", "a", func(context.Context, *mcp.CompleteRequest) ([]string, error) { return nil, fail() })
	return s
}

var failingRequests = map[string]string{
	"tools/call":          `{"name":"t"}`,
	"prompts/get":         `{"name":"p"}`,
	"resources/read":      `{"uri":"x:r"}`,
	"completion/complete": `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`,
}

// failureText returns what the client receives of an error.
func failureText(t *testing.T, c *client, method string) string {
	if method == "tools/call" {
		result := c.call(method, failingRequests[method])
		require.Equal(t, true, result["isError"])
		return text(t, result)
	}
	return c.refused(method, failingRequests[method], mcp.CodeInternal).Error.Message
}

var idInText = regexp.MustCompile(`^Internal error \(id ([0-9a-f]{16})\)`)

func TestErrorsOfHandlersHaveIDsInTheLog(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		for method := range failingRequests {
			for _, fail := range []func() error{
				func() error { return errors.New("secret") },
				func() error { panic("secret") },
			} {
				var log strings.Builder
				c := connect(t, failingServer(&mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, fail), revision)
				var found []string
				if method == "tools/call" {
					id := c.start(method, failingRequests[method])
					m := c.receive()
					require.Equal(t, fmt.Sprint(id), string(m.ID))
					message := string(m.Result)
					if m.Error != nil { // a panic
						message = m.Error.Message
					}
					found = regexp.MustCompile(`Internal error \(id ([0-9a-f]{16})\)`).FindStringSubmatch(message)
				} else {
					found = idInText.FindStringSubmatch(failureText(t, c, method))
				}
				require.NotNil(t, found, method)
				require.Contains(t, log.String(), "id="+found[1])
				require.Contains(t, log.String(), "secret")
			}
		}
	})
}

// One rule decides whether an error is logged, for all kinds of handlers.
func TestLevelsOfLoggedErrors(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		for method := range failingRequests {
			for _, test := range []struct {
				err   error
				level string
			}{
				{mcpserver.Errorf("the text"), "DEBUG"},
				{fmt.Errorf("wrapped: %w", mcpserver.Errorf("the text")), "DEBUG"},
				{&peer.Error{Code: mcp.CodeInternal, Message: "the text"}, "DEBUG"},
				{errors.New("the text"), "ERROR"},
			} {
				var log strings.Builder
				logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				c := connect(t, failingServer(&mcpserver.Options{Logger: logger}, func() error { return test.err }), revision)
				c.ask(method, failingRequests[method])
				var lines []string
				for line := range strings.Lines(log.String()) {
					if strings.Contains(line, "the text") {
						lines = append(lines, line)
					}
				}
				require.Len(t, lines, 1, "%s %T: %s", method, test.err, log.String())
				require.Contains(t, lines[0], "level="+test.level, "%s %T", method, test.err)
			}
		}
	})
}

func TestTextsOfErrors(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		for method := range failingRequests {
			var log strings.Builder
			c := connect(t, failingServer(nil, func() error { return mcpserver.Errorf("try Monday") }), revision)
			require.Equal(t, "try Monday", failureText(t, c, method))
			c = connect(t, failingServer(&mcpserver.Options{ExposeErrors: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}, func() error { return errors.New("disk full") }), revision)
			require.Equal(t, "disk full", failureText(t, c, method))
			require.Contains(t, log.String(), "disk full", "an error that is not made for the client is logged too")
			if method != mcp.MethodCallTool { // its log has the name of the tool
				require.Contains(t, log.String(), "method="+method)
			}
		}
	})
}
