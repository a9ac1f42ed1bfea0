package main

import "regexp"

// server is a server on another SDK.
type server struct {
	name, url, commit string
	imports           importPaths
	maxChanged        int      // limits the lines that the port changes besides import paths and tests
	main              string   // its main package
	args, env         []string // of the process; the server uses standard input and output
	tests             []string // patterns of packages
	calls             []string // methods with params
	differences       []explained
	failing           map[string]string // the reasons why tests fail only in the port
}

// importPaths changes import paths.
type importPaths struct {
	old     *regexp.Regexp
	new     string
	modules []string // that the port requires, below the path of this module
}

// mcpgo is for servers on mcp-go.
var mcpgo = importPaths{
	regexp.MustCompile(`"github\.com/mark3labs/mcp-go/(mcp|server|client|client/transport)"`),
	`"github.com/mcpwright/mcp/compat/mcpgo/$1"`, []string{"", "/compat/mcpgo"},
}

// explained is a reason why members of responses differ.
type explained struct {
	path *regexp.Regexp // of a member, as "method:/result/tools/*/name"
	why  string
}

// handshake begins the session.
var handshake = []string{
	`initialize {"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"ports","version":"1.0.0"}}`,
	`notifications/initialized {}`,
}

var (
	texts = explained{regexp.MustCompile(`:/error/(message|data)$`),
		"the server's own errors have other texts, and data"}
)

var servers = []*server{
	{
		name:    "terraform-mcp-server",
		url:     "https://github.com/hashicorp/terraform-mcp-server",
		commit:  "42b9fe7d8438f2d86fc6ffd43039b23b5737148a",
		imports: mcpgo, maxChanged: 60,
		main:  "./cmd/terraform-mcp-server",
		args:  []string{"stdio", "--toolsets=all"},
		tests: []string{"./pkg/...", "./cmd/...", "./version/..."},
		calls: []string{
			`ping {}`,
			`tools/list {}`,
			`resources/list {}`,
			`resources/templates/list {}`,
			`prompts/list {}`,
			`resources/read {"uri":"/terraform/style-guide"}`,
			`resources/read {"uri":"/terraform/module-development"}`,
			`resources/read {"uri":"/terraform/absent"}`,
			`tools/call {"name":"absent","arguments":{}}`,
			`tools/call {"name":"search_providers","arguments":{}}`,
			`tools/call {"name":"get_provider_details","arguments":{"provider_doc_id":"x"}}`,
			`tools/call {"name":"search_modules","arguments":{"module_query":5}}`,
			`tools/call {"name":"get_latest_module_version","arguments":{"module_publisher":"a"}}`,
			`tools/call {"name":"search_policies","arguments":{"policy_query":""}}`,
			`prompts/get {"name":"absent"}`,
			`absent/method {}`,
		},
		differences: []explained{texts, {regexp.MustCompile(`^initialize:/result/capabilities/elicitation$`),
			"elicitation is a capability of clients"}},
	},
	{
		name:    "mcp-grafana",
		url:     "https://github.com/grafana/mcp-grafana",
		commit:  "c6e492b39f493f7e5856eb4ab419bc918b083716",
		imports: mcpgo, maxChanged: 60,
		main:  "./cmd/mcp-grafana",
		env:   []string{"GRAFANA_URL=http://127.0.0.1:9", "GRAFANA_SERVICE_ACCOUNT_TOKEN=none"}, // no program listens
		tests: []string{"./..."},
		calls: []string{
			`ping {}`,
			`tools/list {}`,
			`resources/list {}`,
			`resources/templates/list {}`,
			`prompts/list {}`,
			`tools/call {"name":"absent","arguments":{}}`,
			`tools/call {"name":"search_dashboards","arguments":{"query":"x"}}`,
			`tools/call {"name":"search_dashboards","arguments":{"query":5}}`,
			`tools/call {"name":"search_dashboards","arguments":{"query":"x","absent":1}}`,
			`tools/call {"name":"list_datasources","arguments":{"limit":"2"}}`,
			`tools/call {"name":"get_dashboard_by_uid","arguments":{}}`,
			`tools/call {"name":"query_prometheus","arguments":{"datasourceUid":"a","expr":"up","startTime":"never"}}`,
			`tools/call {"name":"generate_deeplink","arguments":{"resourceType":"dashboard","dashboardUid":"abc"}}`,
			`tools/call {"name":"generate_deeplink","arguments":{"resourceType":"panel","dashboardUid":"abc","panelId":"5"}}`,
			`tools/call {"name":"generate_deeplink","arguments":{"resourceType":"absent"}}`,
			`resources/read {"uri":"a:b"}`,
			`absent/method {}`,
		},
		differences: []explained{texts, {regexp.MustCompile(`^initialize:/result/capabilities/resources/`),
			"the server notifies clients of changed resources"}},
	},
	{
		// Its package pkg/mcp, which the port adds, has the names of the official SDK that it uses.
		name:   "github-mcp-server",
		url:    "https://github.com/github/github-mcp-server",
		commit: "64a49f34d076b6f5917dae1424521d43c7bcae84",
		imports: importPaths{
			regexp.MustCompile(`"github\.com/modelcontextprotocol/go-sdk/mcp"`), `"github.com/github/github-mcp-server/pkg/mcp"`, []string{""},
		},
		maxChanged: 500,
		main:       "./cmd/github-mcp-server",
		args:       []string{"stdio", "--toolsets=all"},
		env:        []string{"GITHUB_HOST=http://127.0.0.1:9", "GITHUB_PERSONAL_ACCESS_TOKEN=none"}, // no program listens
		tests:      []string{"./pkg/...", "./internal/...", "./cmd/..."},
		calls: []string{
			`ping {}`,
			`tools/list {}`,
			`resources/list {}`,
			`resources/templates/list {}`,
			`prompts/list {}`,
			`prompts/get {"name":"AssignCodingAgent","arguments":{"repo":"a/b"}}`,
			`prompts/get {"name":"absent"}`,
			`tools/call {"name":"absent","arguments":{}}`,
			`tools/call {"name":"get_me","arguments":{}}`,
			`tools/call {"name":"issue_read","arguments":{}}`,
			`tools/call {"name":"issue_read","arguments":{"method":"get","owner":"a","repo":"b","issue_number":"1"}}`,
			`tools/call {"name":"search_code","arguments":{"query":5}}`,
			`tools/call {"name":"search_code","arguments":{"query":"x","absent":1}}`,
			`tools/call {"name":"list_commits","arguments":{"owner":"a"}}`,
			`tools/call {"name":"get_file_contents","arguments":{"owner":"a","repo":"b","path":"c"}}`,
			`resources/read {"uri":"repo://a/b/contents/c"}`,
			`resources/read {"uri":"a:b"}`,
			`completion/complete {"ref":{"type":"ref/prompt","name":"AssignCodingAgent"},"argument":{"name":"repo","value":"a"}}`,
			`completion/complete {"ref":{"type":"ref/resource","uri":"absent://"},"argument":{"name":"repo","value":"a"}}`,
			`absent/method {}`,
		},
		differences: []explained{
			texts,
			{regexp.MustCompile(`/icons$`), "icons are sent since revision 2025-11-25"},
			{regexp.MustCompile(`:/result/(ttlMs|cacheScope)$`), "hints for caches are sent since revision 2026-07-28"},
			{regexp.MustCompile(`^(tools/call|resources/read|completion/complete):/error/code$`), "errors have the codes of the protocol in place of 0, and the code for absent resources"},
			{regexp.MustCompile(`^completion/complete:/result$`), "the protocol allows no null as a result"},
		},
		failing: map[string]string{
			"TestToolAvailability": "a client cannot begin a session on a pipe on which server/discover has failed",
		},
	},
}
