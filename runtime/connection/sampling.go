package connection

import (
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
)

// CheckMessages validates the messages of a conversation. A message that uses tools must be
// followed immediately by a message that contains exactly their results and nothing else.
// Clients and servers can both call it.
func CheckMessages(messages []mcp.SamplingMessage) error {
	open := map[string]bool{} // tool uses of the previous message; true while there is no result
	for i := range messages {
		tools := toolsIn(&messages[i])
		if err := tools.follow(open); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
		clear(open)
		for _, id := range tools.uses {
			if _, twice := open[id]; twice {
				return fmt.Errorf("messages[%d]: two tool uses have the id %q", i, id)
			}
			open[id] = true
		}
	}
	for id := range open {
		return fmt.Errorf("messages: tool use %q has no result", id)
	}
	return nil
}

// messageTools lists the tool uses and tool results of a message.
type messageTools struct {
	role          mcp.Role
	uses, results []string
	others        int // number of other content blocks
}

func toolsIn(m *mcp.SamplingMessage) messageTools {
	t := messageTools{role: m.Role}
	for _, block := range m.Content {
		switch block := block.(type) {
		case *mcp.ToolUseContent:
			t.uses = append(t.uses, block.ID)
		case *mcp.ToolResultContent:
			t.results = append(t.results, block.ToolUseID)
		default:
			t.others++
		}
	}
	return t
}

// follow validates a message that follows a message with the given open tool uses. It marks
// those that have a result now.
func (t messageTools) follow(open map[string]bool) error {
	switch {
	case len(t.uses) > 0 && t.role != mcp.RoleAssistant:
		return errors.New("only the assistant uses tools")
	case len(t.results) > 0 && t.role != mcp.RoleUser:
		return errors.New("only the user sends tool results")
	case len(t.results) > 0 && t.others > 0:
		return errors.New("a message with tool results must not have other content")
	}
	for _, id := range t.results {
		if !open[id] {
			return fmt.Errorf("tool result %q: the previous message has no such tool use, or the result is a duplicate", id)
		}
		open[id] = false
	}
	for id, missing := range open {
		if missing {
			return fmt.Errorf("tool use %q of the previous message has no result", id)
		}
	}
	return nil
}
