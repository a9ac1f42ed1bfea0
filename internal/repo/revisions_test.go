package repo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

// features are what users ask for, each with the method that stands for it.
var features = []struct{ name, method string }{
	{"tools", mcp.MethodCallTool}, {"resources", mcp.MethodReadResource}, {"prompts", mcp.MethodGetPrompt},
	{"completion", mcp.MethodComplete}, {"progress", mcp.MethodProgress}, {"log messages", mcp.MethodLoggingMessage},
	{"asking the client's model", mcp.MethodCreateMessage}, {"asking the user", mcp.MethodElicit}, {"roots", mcp.MethodListRoots},
	{"watching a resource", mcp.MethodSubscribe}, {"one stream for all changes", mcp.MethodSubscriptionsListen},
	{"discovery", mcp.MethodDiscover}, {"answers that may be kept", mcp.MethodListTools}, {"calls that go on as tasks", mcp.MethodGetTask},
}

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
			line += " " + cell(f.name, mcp.MethodByName(f.method), r) + " |"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n") + "\n"
}

// cell says how a revision has a method.
func cell(feature string, m *peer.MethodInfo, r peer.RevisionInfo) string {
	switch {
	case strings.HasPrefix(feature, "calls") && !r.Handshake:
		return "extension" // which no schema has
	case strings.HasPrefix(feature, "calls") && m.FromClient.Has(r.Revision):
		return "messages"
	case strings.HasPrefix(feature, "answers"):
		return map[bool]string{true: "yes", false: "–"}[m.Cacheable.Has(r.Revision)]
	case m.Embedded.Has(r.Revision):
		return "in answers"
	case m.FromClient.Has(r.Revision) || m.FromServer.Has(r.Revision):
		return "yes"
	}
	return "–"
}
