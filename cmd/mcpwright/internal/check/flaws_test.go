package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
)

// respond returns a flaw that responds itself to messages that contain all of the words.
// The response has the members of a result, or of an error.
func respond(body string, words ...string) *flaw {
	return &flaw{take: func(line []byte) (bool, []string) {
		m, _ := parse(line)
		if m.id == nil || !containsAll(string(line), words) {
			return true, nil
		}
		return false, []string{fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.id, body)}
	}}
}

// add returns a flaw that sends a line of its own before the response to messages that
// contain all of the words.
func add(line string, words ...string) *flaw {
	return &flaw{take: func(got []byte) (bool, []string) {
		if !containsAll(string(got), words) {
			return true, nil
		}
		return true, []string{line}
	}}
}

// drop returns a flaw that ignores each nth message that contains all of the words.
func drop(n int, words ...string) *flaw {
	count := 0
	return &flaw{take: func(line []byte) (bool, []string) {
		if containsAll(string(line), words) {
			count++
			return count%n != 0, nil
		}
		return true, nil
	}}
}

// dies returns a flaw that ends the server at messages that contain all of the words.
func dies(words ...string) *flaw {
	return &flaw{dies: func(line []byte) bool { return containsAll(string(line), words) }}
}

func containsAll(line string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) })
}

// edit returns a flaw that changes the messages of a method: its notifications, or its
// responses with a result.
func edit(method string, change func(m map[string]any)) *flaw {
	return &flaw{alter: func(got string, line []byte) []string {
		var m map[string]any
		if got != method || json.Unmarshal(line, &m) != nil || m["error"] != nil {
			return []string{string(line)}
		}
		change(m)
		return []string{string(marshal(m))}
	}}
}

// result is edit for the result of a response.
func result(method string, change func(result map[string]any)) *flaw {
	return edit(method, func(m map[string]any) { change(m["result"].(map[string]any)) })
}

// tools is result for the first tool of the list.
func tools(change func(tool map[string]any)) *flaw {
	return result("tools/list", func(r map[string]any) { change(r["tools"].([]any)[0].(map[string]any)) })
}

// undeclare is a flaw that removes a capability of the server.
func undeclare(name string) *flaw {
	return result("server/discover", func(r map[string]any) { delete(r["capabilities"].(map[string]any), name) })
}

const (
	logMessage  = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`
	toolsPage   = `"result":{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[],"nextCursor":"same"}`
	emptyTool   = `"result":{"resultType":"complete","content":[]}`
	wrongTool   = `"result":{"resultType":"complete","content":[],"isError":true}`
	methodError = `"error":{"code":-32601,"message":"x"}`
	anyError    = `"error":{"code":-1,"message":"x"}`
)

// pipeFlaws has a flaw for each case that needs no HTTP.
var pipeFlaws = map[string]func() *flaw{
	"message-schema":       func() *flaw { return tools(func(tool map[string]any) { tool["name"] = 7 }) },
	"stdout-not-a-message": func() *flaw { return add("listing tools", `"tools/list"`) },
	"no-response":          func() *flaw { return drop(1, `"tools/list"`) },
	"initialize-version": func() *flaw {
		return respond(`"result":{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`, "1999-01-01")
	},
	"early-request":       func() *flaw { return add(`{"jsonrpc":"2.0","id":"s","method":"roots/list"}`, `"initialize"`) },
	"ping":                func() *flaw { return respond(methodError, `"ping"`) },
	"unknown-method":      func() *flaw { return respond(`"result":{}`, unknownMethod) },
	"unknown-method-code": func() *flaw { return respond(anyError, unknownMethod) },
	"response-id":         func() *flaw { return add(`{"jsonrpc":"2.0","id":42,"result":{}}`, `"id":"42"`).andDrop(`"id":"42"`) },
	"notification-response": func() *flaw {
		return add(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"x"}}`, "notifications/mcpwright")
	},
	"undeclared-client-capability": func() *flaw {
		return respond(`"result":{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}`, `"tools/call"`)
	},
	"progress-increases": func() *flaw {
		return edit("notifications/progress", func(m map[string]any) { m["params"].(map[string]any)["progress"] = 1 })
	},
	"progress-token": func() *flaw {
		return edit("notifications/progress", func(m map[string]any) { m["params"].(map[string]any)["progressToken"] = "other" })
	},
	"progress-after-response": lateProgress,
	"logging-undeclared":      func() *flaw { return undeclare("logging").with(add(logMessage, `"tools/list"`)) },
	"log-unrequested":         func() *flaw { return add(logMessage, `"tools/list"`) },
	"log-level":               func() *flaw { return respond(`"result":{}`, `"level":"mcpwright"`) },
	"tool-name":               func() *flaw { return tools(func(tool map[string]any) { tool["name"] = "bad name" }) },
	"tool-name-unique": func() *flaw {
		return result("tools/list", func(r map[string]any) { r["tools"] = append(r["tools"].([]any), r["tools"].([]any)[0]) })
	},
	"tool-schema": func() *flaw {
		return tools(func(tool map[string]any) {
			tool["inputSchema"] = map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "nonsense"}}}
		})
	},
	"tool-header": func() *flaw {
		return tools(func(tool map[string]any) {
			tool["inputSchema"] = map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string", "x-mcp-header": "bad name"}}}
		})
	},
	"tool-order": func() *flaw {
		odd := false
		return result("tools/list", func(r map[string]any) {
			if odd = !odd; odd {
				slices.Reverse(r["tools"].([]any))
			}
		})
	},
	"structured-content": func() *flaw {
		return result("tools/call", func(r map[string]any) { r["structuredContent"] = map[string]any{"text": 7} })
	},
	"structured-text":       func() *flaw { return result("tools/call", func(r map[string]any) { r["content"] = []any{} }) },
	"tool-input":            func() *flaw { return respond(emptyTool, `"tools/call"`, `"arguments":{}`, `"echo"`) },
	"unknown-tool":          func() *flaw { return respond(emptyTool, unknownName) },
	"unknown-tool-error":    func() *flaw { return respond(wrongTool, unknownName) },
	"capability-unserved":   func() *flaw { return respond(methodError, `"prompts/list"`) },
	"capability-undeclared": func() *flaw { return undeclare("tools") },
	"cursor-loop":           func() *flaw { return respond(toolsPage, `"tools/list"`) },
	"cursor-invalid":        func() *flaw { return respond(toolsPage, "mcpwright-invalid-cursor") },
	"cache-scope": func() *flaw {
		first := respond(toolsPage, `"tools/list"`)
		return respond(strings.Replace(toolsPage, "public", "private", 1), `"cursor":"same"`).with(first)
	},
	"completion-limit": func() *flaw {
		return result("completion/complete", func(r map[string]any) {
			r["completion"].(map[string]any)["values"] = slices.Repeat([]any{"x"}, 101)
		})
	},
	"unknown-resource":      func() *flaw { return respond(`"result":{"resultType":"complete","contents":[]}`, unknownName) },
	"unknown-resource-code": func() *flaw { return respond(anyError, unknownName) },
	"listed-resource":       func() *flaw { return respond(anyError, "test://one") },
	"unknown-prompt":        func() *flaw { return respond(anyError, unknownName) },
	"prompt-argument":       func() *flaw { return respond(anyError, `"prompts/get"`, `abused`) },
	"concurrent-requests":   func() *flaw { return drop(20, `"tools/list"`) },
	"ping-while-busy":       func() *flaw { return drop(1, `"ping"`) },
	"duplicate-id":          func() *flaw { return dies(`"id":"same"`) },
	"cancel-race":           func() *flaw { return dies("notifications/cancelled") },
	"slow-reader":           func() *flaw { return drop(50, `"tools/list"`) },
	"exit-on-eof":           func() *flaw { return &flaw{stays: true} },
	"version-unsupported":   func() *flaw { return respond(`"result":{}`, unknownRevision) },
	"meta-required":         func() *flaw { return respond(`"result":{}`, `"edited-`) },
	"listen-acknowledged": func() *flaw {
		return add(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, "subscriptions/listen")
	},
	"listen-id": func() *flaw {
		return edit(acknowledged, func(m map[string]any) { delete(m["params"].(map[string]any), "_meta") })
	},
	"batch":          func() *flaw { return drop(1, `[{`) },
	"cancel-unknown": func() *flaw { return dies("mcpwright-unknown", "cancelled") },
	"cancel-invalid": func() *flaw { return dies(`"requestId":{}`) },
}

// lateProgress sends progress after the response.
func lateProgress() *flaw {
	last := ""
	return &flaw{alter: func(method string, line []byte) []string {
		if method == "notifications/progress" {
			last = strings.Replace(string(line), `"progress":`, `"progress":10`, 1)
		}
		if method == "tools/call" && last != "" {
			return []string{string(line), last}
		}
		return []string{string(line)}
	}}
}

// andDrop returns the flaw, which also ignores messages that contain a word.
func (f *flaw) andDrop(word string) *flaw {
	take := f.take
	return &flaw{take: func(line []byte) (bool, []string) {
		_, reply := take(line)
		return !strings.Contains(string(line), word), reply
	}}
}

// with returns a flaw with both flaws; f goes first.
func (f *flaw) with(g *flaw) *flaw {
	both := *f
	both.take = func(line []byte) (bool, []string) {
		if f.take != nil {
			if pass, reply := f.take(line); !pass || len(reply) > 0 {
				return pass, reply
			}
		}
		return g.take(line)
	}
	return &both
}

// TestEachCaseFindsItsFlaw runs each case alone against a server that has only the fault
// that the case is for.
func TestEachCaseFindsItsFlaw(t *testing.T) {
	for _, c := range Cases() {
		if strings.HasPrefix(c.ID, "hostile-") {
			continue // TestHostileMessages
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			opts := Options{Only: []string{c.ID}, Timeout: time.Second, Revisions: c.Revisions()[len(c.Revisions())-1:]}
			var server *Server
			if make, ok := pipeFlaws[c.ID]; ok {
				server = &Server{Start: make().start()}
			} else if wrap, ok := sseFlaws[c.ID]; ok {
				server = oldEndpoint(t, wrap)
			} else {
				wrap := httpFlaws[c.ID]
				require.NotNil(t, wrap, "no test shows that this case finds a fault")
				server = endpoint(t, wrap)
			}
			if c.ID == "http-accepted" { // a stateless client sends no notifications, except in other cases
				opts.Revisions = []mcp.Revision{mcp.Revision20251125}
			}
			if strings.HasPrefix(c.ID, "http-stateless-") {
				opts.Revisions = nil // the server itself has only one
			}
			requireFound(t, run(t, server, opts), c)
		})
	}
}

// requireFound checks that a report has findings of the case, and no others.
func requireFound(t *testing.T, report *Report, c *Case) {
	t.Helper()
	require.NotEmpty(t, report.Findings)
	for _, f := range report.Findings {
		require.Equal(t, c.ID, f.ID)
		require.NotEmpty(t, f.Problem)
		require.Equal(t, c.Advice, f.Advice)
		require.Contains(t, f.Rule, "/specification/"+f.Revision+"/")
	}
}

// TestHostileMessages runs each hostile message against a server that dies of it, and
// against one that accepts it.
func TestHostileMessages(t *testing.T) {
	index := caseIndex(Cases())
	for _, input := range hostileInputs() {
		c := Cases()[index["hostile-"+input.id]]
		raw := strings.NewReplacer("ID", input.requestID(), "META", "{}", "METHOD", "tools/list").Replace(input.raw)
		opts := Options{Only: []string{c.ID}, Timeout: 5 * time.Second, Revisions: []mcp.Revision{mcp.Revision20251125}}
		t.Run(input.id, func(t *testing.T) {
			t.Parallel()
			dying := &flaw{dies: func(line []byte) bool { return string(line) == raw }}
			requireFound(t, run(t, &Server{Start: dying.start()}, opts), c)
			if !input.rejected {
				return
			}
			requireFound(t, run(t, &Server{Start: respond(`"result":{}`, input.requestID()).start()}, opts), c)
		})
	}
}
