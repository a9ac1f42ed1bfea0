package peer

import (
	"encoding/json"
	"fmt"
	"strings"
)

// The messages of the drivers and the codecs, the same for every peer.

const (
	// ResourceURI is the resource that subscribers subscribe to.
	ResourceURI = "mem://res/1"
	// GreetText is the result of the tool "greet" for a ToolCall.
	GreetText = "Hello, gopher! (3)"
	// Initialize begins a session.
	Initialize = `{"jsonrpc":"2.0","id":1000000,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}`
	// Initialized confirms it.
	Initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	// Subscribe subscribes to ResourceURI.
	Subscribe = `{"jsonrpc":"2.0","id":1000001,"method":"resources/subscribe","params":{"uri":"` + ResourceURI + `"}}`

	// UpdateCall calls the tool "update", which notifies the subscribers of ResourceURI.
	UpdateCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"update","arguments":{}}}`

	handshakeRevision = "2025-11-25"
	greetSchema       = `{"type":"object","properties":{"name":{"type":"string","description":"whom to greet"},"count":{"type":"integer","description":"how often"}},"required":["name","count"],"additionalProperties":false}`
	askSchema         = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
)

// greetArgs are the arguments of the tool "greet".
type greetArgs struct {
	Name  string `json:"name" jsonschema:"whom to greet"`
	Count int    `json:"count" jsonschema:"how often"`
}

// greet is the handler of the tool "greet" of every peer.
func greet(a greetArgs) string { return fmt.Sprintf("Hello, %s! (%d)", a.Name, a.Count) }

// ToolCall returns a call of "greet" in the revision of the mode.
func ToolCall(id int, modern bool) string {
	meta := ""
	if modern {
		meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s"name":"greet","arguments":{"name":"gopher","count":3}}}`, id, meta)
}

// Kind names a message that the codecs are measured with.
type Kind string

const (
	// KindCall is a tools/call request.
	KindCall Kind = "call request"
	// KindText is the result of KindCall: one short text.
	KindText Kind = "call result"
	// KindTools is a list of 100 tools.
	KindTools Kind = "100 tools"
	// KindSampling is a sampling request with 20 messages.
	KindSampling Kind = "20 messages"
	// KindMiB is a call result with a text of 1 MiB.
	KindMiB Kind = "1 MiB text"
)

// Kinds lists all kinds.
var Kinds = []Kind{KindCall, KindText, KindTools, KindSampling, KindMiB}

// mebibyte returns text like source code: mostly ASCII, a line feed about every 40 bytes, some quotes,
// and a few other letters.
var mebibyte = func() string {
	const unit = "func (s *Server) handle(ctx context.Context) error {\n\treturn s.send(ctx, \"résumé\", 42) // ok\n}\n"
	return strings.Repeat(unit, (1<<20)/len(unit)+1)[:1<<20-1] + "\n"
}()

func toolName(i int) string { return fmt.Sprintf("tool_%03d", i) }

func toolDescription(i int) string {
	return fmt.Sprintf("Tool number %d searches the corpus and returns the best matching passages with their sources.", i)
}

func toolSchema(i int) string {
	return fmt.Sprintf(`{"type":"object","properties":{"query":{"type":"string","description":"The search query number %d","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":100,"default":10},"filters":{"type":"object","properties":{"lang":{"type":"string","enum":["en","de","fr"]},"since":{"type":"string","format":"date-time"}}},"tags":{"type":"array","items":{"type":"string"}}},"required":["query"]}`, i)
}

func messageText(i int) string {
	return fmt.Sprintf("Message %d: please summarise the attached document in three sentences, and say \"unknown\" where unsure.", i)
}

func messageRole(i int) string { return []string{"user", "assistant"}[i%2] }

// Message returns a message without white space.
func Message(k Kind) []byte {
	switch k {
	case KindCall:
		return []byte(ToolCall(1, false))
	case KindText:
		return []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + GreetText + `"}]}}`)
	case KindMiB:
		return []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":` + quote(mebibyte) + `}]}}`)
	case KindTools:
		return []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + list(100, func(i int) string {
			return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":%s,"annotations":{"readOnlyHint":true,"title":"T"}}`, toolName(i), toolDescription(i), toolSchema(i))
		}) + `]}}`)
	case KindSampling:
		return []byte(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[` + list(20, func(i int) string {
			return fmt.Sprintf(`{"role":%q,"content":{"type":"text","text":%s}}`, messageRole(i), quote(messageText(i)))
		}) + `],"systemPrompt":"You are terse.","temperature":0.5,"maxTokens":1000,"stopSequences":["END"]}}`)
	}
	panic("no message " + k)
}

func list(n int, element func(int) string) string {
	var elements []string
	for i := range n {
		elements = append(elements, element(i))
	}
	return strings.Join(elements, ",")
}

func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
