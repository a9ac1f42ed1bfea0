package connection

import (
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
)

// checkSampling judges a sampling request: what it needs of the client, and
// whether every use of a tool in its messages has its result.
func (d door) checkSampling(req *mcp.CreateMessageRequest) error {
	method := req.Method()
	if req.Tools != nil || req.ToolChoice != nil {
		if err := d.need(method, "sampling.tools"); err != nil {
			return err
		}
	}
	if d.tellsContext(req.IncludeContext) {
		if err := d.need(method, "sampling.context"); err != nil {
			return err
		}
	}
	if req.Task != nil {
		if err := d.need(method, "tasks.requests.sampling.createMessage"); err != nil {
			return err
		}
	}
	if err := CheckMessages(req.Messages); err != nil {
		return &InvalidError{Method: method, Err: err}
	}
	return nil
}

// tellsContext tells whether the request asks for other servers' context in a
// revision where clients declare that they can give it. Before, they could not
// say so.
func (d door) tellsContext(c mcp.IncludeContext) bool {
	if c == "" || c == mcp.IncludeContextNone {
		return false
	}
	return d.facts.revision.Index() >= mcp.Revision20251125.Index()
}

// CheckMessages judges the messages of a conversation, for either end: one that
// uses tools is followed at once by one with exactly their results and nothing
// else.
func CheckMessages(messages []mcp.SamplingMessage) error {
	open := map[string]bool{} // uses of the message before, true while without result
	for i := range messages {
		t := readTurn(&messages[i])
		if err := t.follows(open); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
		clear(open)
		for _, id := range t.uses {
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

// turn is what a message has to do with tools.
type turn struct {
	role          mcp.Role
	uses, results []string
	others        int
}

func readTurn(m *mcp.SamplingMessage) turn {
	t := turn{role: m.Role}
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

// follows judges the turn after a message with the uses open.
func (t turn) follows(open map[string]bool) error {
	switch {
	case len(t.uses) > 0 && t.role != mcp.RoleAssistant:
		return errors.New("only the assistant uses tools")
	case len(t.results) > 0 && t.role != mcp.RoleUser:
		return errors.New("only the user has results of tools")
	case len(t.results) > 0 && t.others > 0:
		return errors.New("a message with results of tools has nothing else")
	}
	for _, id := range t.results {
		if !open[id] {
			return fmt.Errorf("result %q answers no tool use of the message before, or answers it twice", id)
		}
		open[id] = false
	}
	for id, unanswered := range open {
		if unanswered {
			return fmt.Errorf("tool use %q of the message before has no result", id)
		}
	}
	return nil
}
