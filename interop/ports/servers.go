package main

import "regexp"

// server is a server on mcp-go.
type server struct {
	name, url, commit string
	main              string   // its main package
	args, env         []string // of the process; the server uses standard input and output
	tests             []string // patterns of packages
	calls             []string // methods with params
	differences       []explained
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
		name:   "terraform-mcp-server",
		url:    "https://github.com/hashicorp/terraform-mcp-server",
		commit: "42b9fe7d8438f2d86fc6ffd43039b23b5737148a",
		main:   "./cmd/terraform-mcp-server",
		args:   []string{"stdio", "--toolsets=all"},
		tests:  []string{"./pkg/...", "./cmd/...", "./version/..."},
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
		name:   "mcp-grafana",
		url:    "https://github.com/grafana/mcp-grafana",
		commit: "c6e492b39f493f7e5856eb4ab419bc918b083716",
		main:   "./cmd/mcp-grafana",
		env:    []string{"GRAFANA_URL=http://127.0.0.1:9", "GRAFANA_SERVICE_ACCOUNT_TOKEN=none"}, // no program listens
		tests:  []string{"./..."},
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
}
