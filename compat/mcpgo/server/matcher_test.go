package server

import (
	"fmt"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
)

// Sessions with the same templates share the server that matches them, and the number of such servers is
// limited.
func TestMatchersAreShared(t *testing.T) {
	s := NewMCPServer("test", "1.0.0")
	templates := func(texts ...string) map[string]ServerResourceTemplate {
		all := map[string]ServerResourceTemplate{}
		for _, text := range texts {
			all[text] = ServerResourceTemplate{Template: mcp.NewResourceTemplate(text, text)}
		}
		return all
	}
	for range 3 {
		found, vars, err := s.matchTemplate(templates("x:{id}", "x:a{id}"), "x:a1")
		if err != nil || found.Template.Name != "x:a{id}" || vars["id"][0] != "1" {
			t.Fatal(found, vars, err)
		}
	}
	if len(s.matchers) != 1 {
		t.Errorf("got %d servers", len(s.matchers))
	}
	for i := range 2 * maxMatchers {
		if found, _, err := s.matchTemplate(templates(fmt.Sprintf("x%d:{id}", i)), "y:1"); found != nil || err != nil {
			t.Fatal(found, err)
		}
	}
	if len(s.matchers) > maxMatchers {
		t.Errorf("got %d servers", len(s.matchers))
	}
}

func BenchmarkMatchTemplate(b *testing.B) {
	s := NewMCPServer("test", "1.0.0")
	all := map[string]ServerResourceTemplate{}
	for i := range 10 {
		text := fmt.Sprintf("x%d:{id}", i)
		all[text] = ServerResourceTemplate{Template: mcp.NewResourceTemplate(text, text)}
	}
	b.ReportAllocs()
	for b.Loop() {
		if found, _, err := s.matchTemplate(all, "x5:1"); found == nil || err != nil {
			b.Fatal(err)
		}
	}
}
