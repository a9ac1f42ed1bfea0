package repo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

// A feature is a row of the table, with the method that represents it.
type feature struct {
	name, method string
	// cacheable marks a feature that is a property of the method's results.
	cacheable bool
	// task marks the tasks, which the newest revision has as an extension without a schema.
	task bool
}

var features = []feature{
	{name: "tools", method: mcp.MethodCallTool},
	{name: "resources", method: mcp.MethodReadResource},
	{name: "prompts", method: mcp.MethodGetPrompt},
	{name: "completion", method: mcp.MethodComplete},
	{name: "progress", method: mcp.MethodProgress},
	{name: "log messages", method: mcp.MethodLoggingMessage},
	{name: "requests to the client's model", method: mcp.MethodCreateMessage},
	{name: "questions to the user", method: mcp.MethodElicit},
	{name: "roots", method: mcp.MethodListRoots},
	{name: "subscription to a resource", method: mcp.MethodSubscribe},
	{name: "one stream for all changes", method: mcp.MethodSubscriptionsListen},
	{name: "discovery", method: mcp.MethodDiscover},
	{name: "cacheable results", method: mcp.MethodListTools, cacheable: true},
	{name: "tasks", method: mcp.MethodGetTask, task: true},
}

// revisionTable returns the features of each revision.
func revisionTable(*testing.T) string {
	head, rule, hand := "| |", "|---|", "| begins with |"
	for _, r := range mcp.Revisions {
		head += " " + r.Revision.String() + " |"
		rule += ":-:|"
		hand += map[bool]string{true: " handshake |", false: " – |"}[r.Handshake]
	}
	lines := []string{head, rule, hand}
	for _, f := range features {
		line := fmt.Sprintf("| %s, `%s` |", f.name, f.method)
		for _, r := range mcp.Revisions {
			line += " " + f.cell(mcp.MethodByName(f.method), r) + " |"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n") + "\n"
}

// cell returns how a revision supports the feature.
func (f feature) cell(m *peer.MethodInfo, r peer.RevisionInfo) string {
	switch {
	case f.task && !r.Handshake:
		return "extension"
	case f.task && m.FromClient.Has(r.Revision):
		return "messages"
	case f.cacheable:
		return map[bool]string{true: "yes", false: "–"}[m.Cacheable.Has(r.Revision)]
	case m.Embedded.Has(r.Revision):
		return "in results"
	case m.FromClient.Has(r.Revision) || m.FromServer.Has(r.Revision):
		return "yes"
	}
	return "–"
}
