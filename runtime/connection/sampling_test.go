package connection_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
)

func TestSamplingRequiresCapabilities(t *testing.T) {
	tools := []mcp.Tool{{Name: "x"}}
	for _, c := range []struct {
		version string
		caps    *mcp.ClientCapabilities
		req     mcp.CreateMessageRequest
		missing string
	}{
		{"2025-11-25", nil, mcp.CreateMessageRequest{}, "sampling"},
		{"2025-11-25", &mcp.ClientCapabilities{}, mcp.CreateMessageRequest{}, "sampling"},
		{"2025-11-25", only("sampling"), mcp.CreateMessageRequest{}, ""},
		{"2025-11-25", only("sampling"), mcp.CreateMessageRequest{Tools: tools}, "sampling.tools"},
		{"2025-11-25", only("sampling"), mcp.CreateMessageRequest{ToolChoice: &mcp.ToolChoice{}}, "sampling.tools"},
		{"2025-11-25", allCapabilities(), mcp.CreateMessageRequest{Tools: tools, ToolChoice: &mcp.ToolChoice{}}, ""},
		{"2025-11-25", only("sampling"), mcp.CreateMessageRequest{IncludeContext: "none"}, ""},
		{"2025-11-25", only("sampling"), mcp.CreateMessageRequest{IncludeContext: "allServers"}, "sampling.context"},
		{"2025-06-18", only("sampling"), mcp.CreateMessageRequest{IncludeContext: "allServers"}, ""},
		{"2025-11-25", only("sampling"), mcp.CreateMessageRequest{Task: &mcp.TaskMetadata{}}, "tasks.requests.sampling.createMessage"},
	} {
		s, _, related := newSession(t, c.version, c.caps)
		related.answer = `{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}`
		c.req.MaxTokens = 1
		_, err := s.CreateMessage(t.Context(), &c.req)
		if c.missing == "" {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, c.missing, requireRefused[*connection.CapabilityError](t, related, err).Capability)
	}
}

func TestSamplingResultMayBeAList(t *testing.T) {
	s, _, related := newSession(t, "2025-11-25", allCapabilities())
	related.answer = `{"role":"assistant","model":"m","stopReason":"toolUse","content":[` +
		`{"type":"tool_use","id":"1","name":"x","input":{}},{"type":"tool_use","id":"2","name":"x","input":{}}]}`
	res, err := s.CreateMessage(t.Context(), &mcp.CreateMessageRequest{MaxTokens: 1, ToolChoice: &mcp.ToolChoice{Mode: "required"}})
	require.NoError(t, err)
	require.Len(t, res.Content, 2)
}

// conversation returns messages for a short notation: "u" is a text of the user, "a" a text of the
// assistant, "a+1+2" has tool uses, "u-1-2" has tool results, and "~" adds a text to them.
func conversation(notation string) []mcp.SamplingMessage {
	var messages []mcp.SamplingMessage
	for word := range strings.FieldsSeq(notation) {
		m := mcp.SamplingMessage{Role: mcp.RoleUser}
		if word[0] == 'a' {
			m.Role = mcp.RoleAssistant
		}
		for i := 1; i < len(word); i++ {
			switch word[i] {
			case '+':
				m.Content = append(m.Content, &mcp.ToolUseContent{ID: word[i+1 : i+2], Name: "x", Input: json.RawMessage(`{}`)})
			case '-':
				m.Content = append(m.Content, &mcp.ToolResultContent{ToolUseID: word[i+1 : i+2]})
			case '~':
				m.Content = append(m.Content, mcp.Text("x"))
			}
		}
		if len(word) == 1 {
			m.Content = append(m.Content, mcp.Text("x"))
		}
		messages = append(messages, m)
	}
	return messages
}

func TestCheckMessages(t *testing.T) {
	for notation, want := range map[string]string{
		"":                             "",
		"u":                            "",
		"u a u":                        "",
		"u a+1 u-1":                    "",
		"u a~+1+2 u-2-1 a u a+1 u-1 a": "",
		"u a+1":                        `messages: tool use "1" has no result`,
		"u a+1 u":                      `messages[2]: tool use "1" of the previous message has no result`,
		"u a+1 a u-1":                  `messages[2]: tool use "1" of the previous message has no result`,
		"u a+1+2 u-1":                  `messages[2]: tool use "2" of the previous message has no result`,
		"u a+1 u-1-2":                  `messages[2]: tool result "2": the previous message has no such tool use, or the result is a duplicate`,
		"u a+1 u-1-1":                  `messages[2]: tool result "1": the previous message has no such tool use, or the result is a duplicate`,
		"u-1":                          `messages[0]: tool result "1": the previous message has no such tool use, or the result is a duplicate`,
		"u a+1 u-1~":                   `messages[2]: a message with tool results must not have other content`,
		"u+1 u-1":                      `messages[0]: only the assistant uses tools`,
		"u a+1 a-1":                    `messages[2]: only the user sends tool results`,
		"u a+1+1 u-1":                  `messages[1]: two tool uses have the id "1"`,
		// The last two messages are valid.
		"u a+1 u a u": `messages[2]: tool use "1" of the previous message has no result`,
	} {
		s, _, related := newSession(t, "2025-11-25", allCapabilities())
		related.answer = `{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}`
		_, err := s.CreateMessage(t.Context(), &mcp.CreateMessageRequest{MaxTokens: 1, Messages: conversation(notation)})
		if want == "" {
			require.NoError(t, err, notation)
			continue
		}
		e := requireRefused[*connection.InvalidError](t, related, err)
		require.Equal(t, `send "sampling/createMessage": `+want, e.Error(), notation)
	}
}

func TestSamplingMessagesAreChecked(t *testing.T) {
	for name, req := range map[string]mcp.CreateMessageRequest{
		"with tools":   {Tools: []mcp.Tool{{Name: "x"}}},
		"with context": {IncludeContext: "allServers"},
		"as a task":    {Task: &mcp.TaskMetadata{}},
	} {
		s, _, related := newSession(t, "2025-11-25", allCapabilities())
		req.MaxTokens, req.Messages = 1, conversation("u a+1")
		_, err := s.CreateMessage(t.Context(), &req)
		require.NotNil(t, requireRefused[*connection.InvalidError](t, related, err), name)
	}
	s, _, related := newSession(t, "2025-11-25", &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{Tools: map[string]json.RawMessage{}}})
	_, err := s.CreateMessage(t.Context(), &mcp.CreateMessageRequest{Tools: []mcp.Tool{{Name: "x"}}, IncludeContext: "allServers"})
	require.Equal(t, "sampling.context", requireRefused[*connection.CapabilityError](t, related, err).Capability)
}
