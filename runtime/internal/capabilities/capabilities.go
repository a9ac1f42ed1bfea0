// Package capabilities compares the capabilities that clients and servers declare.
package capabilities

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

type object = map[string]json.RawMessage

// OfClient returns the client capability at a path of the method table, such as
// "elicitation.url". It returns nil if the path is a server capability. The caller must not
// change the value.
func OfClient(path string) *mcp.ClientCapabilities { return clientPaths[path] }

var clientPaths = map[string]*mcp.ClientCapabilities{
	"elicitation":       {Elicitation: &mcp.ElicitationCapability{}},
	"elicitation.form":  {Elicitation: &mcp.ElicitationCapability{Form: object{}}},
	"elicitation.url":   {Elicitation: &mcp.ElicitationCapability{URL: object{}}},
	"roots":             {Roots: &mcp.RootsCapability{}},
	"roots.listChanged": {Roots: &mcp.RootsCapability{ListChanged: true}},
	"sampling":          {Sampling: &mcp.SamplingCapability{}},
	"sampling.tools":    {Sampling: &mcp.SamplingCapability{Tools: object{}}},
	"sampling.context":  {Sampling: &mcp.SamplingCapability{Context: object{}}},
	"tasks":             {Tasks: &mcp.ClientTasksCapability{}},
	"tasks.cancel":      {Tasks: &mcp.ClientTasksCapability{Cancel: object{}}},
	"tasks.list":        {Tasks: &mcp.ClientTasksCapability{List: object{}}},
	"tasks.requests.elicitation.create": {Tasks: &mcp.ClientTasksCapability{Requests: &mcp.ClientTaskRequests{
		Elicitation: &mcp.ElicitationTaskRequests{Create: object{}},
	}}},
	"tasks.requests.sampling.createMessage": {Tasks: &mcp.ClientTasksCapability{Requests: &mcp.ClientTaskRequests{
		Sampling: &mcp.SamplingTaskRequests{CreateMessage: object{}},
	}}},
}

// ServerHas reports whether a server declared the capability at a path of the method table.
func ServerHas(have *mcp.ServerCapabilities, path string) bool {
	switch path {
	case "completions":
		return have.Completions != nil
	case "logging":
		return have.Logging != nil
	case "prompts":
		return have.Prompts != nil
	case "prompts.listChanged":
		return have.Prompts != nil && have.Prompts.ListChanged
	case "resources":
		return have.Resources != nil
	case "resources.listChanged":
		return have.Resources != nil && have.Resources.ListChanged
	case "resources.subscribe":
		return have.Resources != nil && have.Resources.Subscribe
	case "tools":
		return have.Tools != nil
	case "tools.listChanged":
		return have.Tools != nil && have.Tools.ListChanged
	case "tasks":
		return have.Tasks != nil
	case "tasks.cancel":
		return have.Tasks != nil && have.Tasks.Cancel != nil
	case "tasks.list":
		return have.Tasks != nil && have.Tasks.List != nil
	}
	return true
}

// Declarable reports whether a server of a revision can declare the capability at a path. The
// first revision has completion, but no capability for it.
func Declarable(path string, r wire.Revision) bool {
	return path != "completions" || r.Index() >= mcp.Revision20250326.Index()
}

// ClientHas reports whether a client that declared have has all capabilities of want. It
// returns false if have is nil, because the client's capabilities are unknown then.
func ClientHas(have, want *mcp.ClientCapabilities) bool {
	switch {
	case have == nil:
		return false
	case want == nil:
		return true
	}
	return hasElicitation(have.Elicitation, want.Elicitation) &&
		hasRoots(have.Roots, want.Roots) &&
		hasSampling(have.Sampling, want.Sampling) &&
		hasTasks(have.Tasks, want.Tasks) &&
		hasEqual(have.Experimental, want.Experimental) &&
		hasExtensions(have, want.Extensions) &&
		hasNames(have.Extra, want.Extra)
}

// hasExtensions reports whether a client declared all extensions of want. Some clients declare
// them as experimental capabilities.
func hasExtensions[T any](have *mcp.ClientCapabilities, want map[string]T) bool {
	for name := range want {
		_, declared := have.Extensions[name]
		if _, experimental := have.Experimental[name]; !declared && !experimental {
			return false
		}
	}
	return true
}

// ServerHasExtension reports whether a server declared an extension. Some servers declare it as
// an experimental capability.
func ServerHasExtension(have *mcp.ServerCapabilities, name string) bool {
	_, declared := have.Extensions[name]
	_, experimental := have.Experimental[name]
	return declared || experimental
}

// extensionsMember is the member of capabilities that contains the extensions. The schemas of the
// handshake revisions do not name it, so that it is an unknown member there.
const extensionsMember = "extensions"

// EncodeExtensions adds the extensions to the unknown members of capabilities, for messages of a
// handshake revision. It does not change the map that extra points to.
func EncodeExtensions(extensions map[string]map[string]json.RawMessage, extra *map[string]json.RawMessage) error {
	if len(extensions) == 0 {
		return nil
	}
	text, err := json.Marshal(extensions)
	if err != nil {
		return fmt.Errorf("encode the extensions: %w", err)
	}
	all := make(map[string]json.RawMessage, len(*extra)+1)
	maps.Copy(all, *extra)
	all[extensionsMember] = text
	*extra = all
	return nil
}

// DecodeExtensions moves the extensions from the unknown members of capabilities that were
// received in a handshake revision. It ignores settings that are not an object, and does
// not change a member of another type.
func DecodeExtensions(extensions *map[string]map[string]json.RawMessage, extra *map[string]json.RawMessage) {
	var settings map[string]json.RawMessage
	text, has := (*extra)[extensionsMember]
	if !has || json.Unmarshal(text, &settings) != nil || settings == nil {
		return
	}
	found := make(map[string]map[string]json.RawMessage, len(settings))
	maps.Copy(found, *extensions)
	for name, text := range settings {
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) == nil && members != nil {
			found[name] = members
		}
	}
	rest := maps.Clone(*extra)
	if delete(rest, extensionsMember); len(rest) == 0 {
		rest = nil
	}
	*extensions, *extra = found, rest
}

// hasElicitation compares the modes. A client that names no mode supports forms.
func hasElicitation(have, want *mcp.ElicitationCapability) bool {
	switch {
	case want == nil:
		return true
	case have == nil:
		return false
	}
	form := have.Form != nil || have.URL == nil
	return (want.Form == nil || form) && (want.URL == nil || have.URL != nil) &&
		hasNames(have.Extra, want.Extra)
}

func hasRoots(have, want *mcp.RootsCapability) bool {
	switch {
	case want == nil:
		return true
	case have == nil:
		return false
	}
	return (!want.ListChanged || have.ListChanged) && hasNames(have.Extra, want.Extra)
}

func hasSampling(have, want *mcp.SamplingCapability) bool {
	switch {
	case want == nil:
		return true
	case have == nil:
		return false
	}
	return hasObject(have.Context, want.Context) && hasObject(have.Tools, want.Tools) &&
		hasNames(have.Extra, want.Extra)
}

func hasTasks(have, want *mcp.ClientTasksCapability) bool {
	switch {
	case want == nil:
		return true
	case have == nil:
		return false
	}
	return hasObject(have.Cancel, want.Cancel) && hasObject(have.List, want.List) &&
		hasTaskRequests(have.Requests, want.Requests) && hasNames(have.Extra, want.Extra)
}

func hasTaskRequests(have, want *mcp.ClientTaskRequests) bool {
	switch {
	case want == nil:
		return true
	case have == nil:
		return false
	case want.Elicitation != nil && (have.Elicitation == nil ||
		!hasObject(have.Elicitation.Create, want.Elicitation.Create)):
		return false
	case want.Sampling != nil && (have.Sampling == nil ||
		!hasObject(have.Sampling.CreateMessage, want.Sampling.CreateMessage)):
		return false
	}
	return hasNames(have.Extra, want.Extra)
}

// hasObject compares by presence: the content of the object has no meaning.
func hasObject(have, want object) bool { return want == nil || have != nil }

// hasNames reports whether every name of want is in have.
func hasNames[T any](have, want map[string]T) bool {
	for name := range want {
		if _, has := have[name]; !has {
			return false
		}
	}
	return true
}

// hasEqual reports whether every entry of want is in have with the same value.
func hasEqual(have, want map[string]object) bool {
	for name, entry := range want {
		other, has := have[name]
		if !has || len(other) != len(entry) {
			return false
		}
		for key, value := range entry {
			if got, has := other[key]; !has || !equalJSON(got, value) {
				return false
			}
		}
	}
	return true
}

// equalJSON reports whether two values are equal. Numbers are equal if their texts are.
func equalJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, err := readAny(a)
	if err != nil {
		return false
	}
	y, err := readAny(b)
	return err == nil && reflect.DeepEqual(x, y)
}

func readAny(raw json.RawMessage) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

var extensionName = sync.OnceValue(func() *regexp.Regexp {
	const label = `[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?`
	return regexp.MustCompile(`^` + label + `(?:\.` + label + `)*/(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?$`)
})

// CheckExtensions validates the identifiers of declared extensions. Each must have a prefix, such
// as "com.example/".
func CheckExtensions[T any](extensions map[string]T) error {
	for name := range extensions {
		if !extensionName().MatchString(name) {
			return fmt.Errorf("extension %q: want an identifier with a prefix, such as %q", name, "com.example/name")
		}
	}
	return nil
}
