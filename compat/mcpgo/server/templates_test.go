package server_test

import (
	"context"
	"math/rand"
	"strings"
	"testing"

	"github.com/yosida95/uritemplate/v3"

	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// The library that mcp-go uses accepts the same templates as the server.
func TestLibraryAndServerAcceptTheSameTemplates(t *testing.T) {
	pieces := []string{
		"{", "{", "}", "}", "a", "b_", "%41", "%4", "+", "#", ".", "/", ";", "?", "&", "=", ",", "!", "@", "|", "*", ":", "1", "0", "9999", "10000",
		"x:", "~", "-", "[", "]", "'", "(", " ", "<", "^", "\"", "`", "{a}", "{+p*}", "{?q,r}", "{/d*,f}", "{a:3}", "{;x}", "{&y*}", "{#f}", "{.e}",
	}
	s := mcpserver.New(kit.Implementation{Name: "templates", Version: "1"}, nil)
	read := func(context.Context, *kit.ReadResourceRequest, mcpserver.Variables) (*kit.ReadResourceResult, error) {
		return nil, nil
	}
	random, valid := rand.New(rand.NewSource(1)), 0
	for range 20_000 {
		var b strings.Builder
		for range random.Intn(7) {
			b.WriteString(pieces[random.Intn(len(pieces))])
		}
		_, wrong := uritemplate.New(b.String())
		err := s.TryAddResourceTemplate(&kit.ResourceTemplate{URITemplate: b.String()}, read)
		if (wrong == nil) != (err == nil) {
			t.Fatalf("%q: library %v, server %v", b.String(), wrong, err)
		}
		if s.RemoveResourceTemplates(b.String()); err == nil {
			valid++
		}
	}
	if valid < 1000 {
		t.Fatalf("only %d templates are valid", valid)
	}
}
