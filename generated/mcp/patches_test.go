package mcp

// A patch corrects, in memory, what a schema says less exactly than the
// protocol does, or what is not the business of this package.
type patch struct {
	why   string
	apply func(*schemaFile)
}

var patches = []patch{
	{"jsonrpc and id are framing, which runtime/wire reads and writes around a message", dropFraming},
	{"a form may ask for a number, so 1.5 is an answer; schema.ts says number", allowFractions},
	{"JSON has numbers and null; the schema of JSONValue forgot them", completeJSONValue},
	{"every message that travels on its own may carry _meta; only the abstract ones, or the shared params, say so of all", giveMetaToMessages},
}

func dropFraming(f *schemaFile) {
	for _, name := range f.names() {
		s := shape{file: f, raw: f.definition(name)}
		method, _ := field(s.raw, "properties", "method").(map[string]any)
		if method["const"] == nil {
			continue
		}
		props := s.raw["properties"].(map[string]any)
		var required []any
		for _, member := range s.raw["required"].([]any) {
			if member != "jsonrpc" && member != "id" {
				required = append(required, member)
			}
		}
		s.raw["required"] = required
		delete(props, "jsonrpc")
		delete(props, "id")
	}
}

func allowFractions(f *schemaFile) {
	answers, ok := field(f.definition("ElicitResult"), "properties", "content", "additionalProperties").(map[string]any)
	if !ok {
		return
	}
	if arms, ok := answers["anyOf"].([]any); ok {
		answers = arms[len(arms)-1].(map[string]any)
	}
	answers["type"] = []any{"string", "number", "boolean"}
}

func completeJSONValue(f *schemaFile) {
	if def := f.definition("JSONValue"); def != nil {
		def["anyOf"].([]any)[2] = map[string]any{"type": []any{"string", "number", "boolean", "null"}}
	}
}

func giveMetaToMessages(f *schemaFile) {
	for _, name := range f.names() {
		def := f.definition(name)
		params, _ := field(def, "properties", "params", "properties").(map[string]any)
		if params == nil || params["_meta"] != nil || field(def, "properties", "method", "const") == nil {
			continue
		}
		if m := MethodByName(field(def, "properties", "method", "const").(string)); !m.FromClient.Has(f.revision) && !m.FromServer.Has(f.revision) {
			continue // it travels in an answer
		}
		base := baseMessage(name)
		meta := field(f.definition(base), "properties", "params", "properties", "_meta")
		if shared := f.definition(base + "Params"); shared != nil {
			meta = field(shared, "properties", "_meta")
		}
		params["_meta"] = meta
	}
}

func baseMessage(definition string) string {
	const notification = "Notification"
	if len(definition) > len(notification) && definition[len(definition)-len(notification):] == notification {
		return notification
	}
	return "Request"
}

// field goes down a path of member names; nil where it ends early.
func field(v any, path ...string) any {
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}
