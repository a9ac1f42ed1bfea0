// Package start has the tools of the programs in its folders. Each is a stdio server with one SDK
// that measures how long a server takes from its start to its first response. The programs in hello
// have one tool. The argument of the others, raw or typed, selects their tools. They are programs of
// their own, because each package that a program links adds to its start.
package start

import (
	"encoding/json"
	"fmt"
)

// Count is the number of the raw and the typed tools.
const Count = 100

// Text is the result of each tool.
const Text = "done"

// Name returns the name of a tool.
func Name(i int) string { return fmt.Sprintf("tool_%d", i) }

// Description describes each tool.
const Description = "Works on an issue of a repository."

// Schema returns the schema of a raw tool, with 8 properties.
func Schema(i int) json.RawMessage {
	return fmt.Appendf(nil, `{"type":"object","properties":{`+
		`"owner":{"type":"string","description":"Owner of repository %d"},`+
		`"repo":{"type":"string","description":"Name of the repository"},`+
		`"title":{"type":"string","description":"Title of the issue"},`+
		`"labels":{"type":"array","items":{"type":"string"},"description":"Labels of the issue"},`+
		`"state":{"type":"string","enum":["open","closed","all"],"description":"State of the issues"},`+
		`"page":{"type":"integer","minimum":1,"description":"Page of the results"},`+
		`"per_page":{"type":"integer","minimum":1,"maximum":100,"description":"Results in a page"},`+
		`"draft":{"type":"boolean","description":"Whether the issue is a draft"}},`+
		`"required":["owner","repo","title"]}`, i)
}

// Args are the arguments of a typed tool. Each pair of type arguments is another Go type, so that
// each tool has its own.
type Args[A, B any] struct {
	Owner   string   `json:"owner" jsonschema:"Owner of the repository"`
	Repo    string   `json:"repo" jsonschema:"Name of the repository"`
	Title   string   `json:"title" jsonschema:"Title of the issue"`
	Labels  []string `json:"labels,omitempty" jsonschema:"Labels of the issue"`
	State   string   `json:"state,omitempty" jsonschema:"State of the issues"`
	Page    int      `json:"page,omitempty" jsonschema:"Page of the results"`
	PerPage int      `json:"per_page,omitempty" jsonschema:"Results in a page"`
	Draft   bool     `json:"draft,omitempty" jsonschema:"Whether the issue is a draft"`
}

// The types of arguments of Args.
type (
	N0 struct{}
	N1 struct{}
	N2 struct{}
	N3 struct{}
	N4 struct{}
	N5 struct{}
	N6 struct{}
	N7 struct{}
	N8 struct{}
	N9 struct{}
)

// HelloArgs are the arguments of the tool of hello.
type HelloArgs struct {
	Name string `json:"name" jsonschema:"the name of the person"`
}
