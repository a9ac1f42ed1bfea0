package mcpserver_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// A handler asks in straight-line code. The client below, of revision 2026-07-28, receives the
// question in the response, and sends the call again with the user's response.
func Example_asking() {
	server := mcpserver.New(mcp.Implementation{Name: "waiter", Version: "1.0.0"}, nil)

	type table struct {
		Name   string `json:"name" jsonschema:"For whom?"`
		Guests int    `json:"guests" minimum:"1" maximum:"12"`
	}
	mcpserver.AddTool(server, &mcp.Tool{Name: "reserve"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
		t, err := mcpserver.Elicit[table](ctx, s, "Which table?")
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Reserved for %s, %d guests.", t.Name, t.Guests), nil
	})

	client := newUser(server, mcp.Revision20260728, answerAll(`{"name":"Ada","guests":2}`))
	defer client.Close()
	fmt.Println(client.use("reserve", `{}`))
	// Output: Reserved for Ada, 2 guests. <nil>
}

// Independent questions are sent together.
func ExampleAsk() {
	server := mcpserver.New(mcp.Implementation{Name: "editor", Version: "1.0.0"}, nil)

	mcpserver.AddTool(server, &mcp.Tool{Name: "open"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		name := mcpserver.NewQuestion(&mcp.ElicitRequest{Params: textForm("Which file?", "file")})
		roots := mcpserver.NewQuestion(&mcp.ListRootsRequest{})
		if err := mcpserver.Ask(ctx, name, roots); err != nil {
			return "", err
		}
		if name.Answer.Action != mcp.ElicitActionAccept || len(roots.Answer.Roots) == 0 {
			return "", mcpserver.Errorf("There is nothing to open.")
		}
		return fmt.Sprint(roots.Answer.Roots[0].URI, "/", name.Answer.Content["file"]), nil
	})

	client := newUser(server, mcp.Revision20260728, func(question string) string {
		if question == "roots" {
			return `{"roots":[{"uri":"file:///project"}]}`
		}
		return `{"action":"accept","content":{"file":"notes.txt"}}`
	})
	defer client.Close()
	fmt.Println(client.use("open", `{}`))
	fmt.Println(client.rounds, "rounds")
	// Output:
	// file:///project/notes.txt <nil>
	// 2 rounds
}

// A step that must not run again in the round after a question.
func ExampleOnce() {
	server := mcpserver.New(mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	order := func(_ context.Context, key string) (int, error) {
		fmt.Println("ordered, with an idempotency key:", key != "")
		return 4711, nil
	}

	mcpserver.AddTool(server, &mcp.Tool{Name: "buy"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
		number, err := mcpserver.Once(ctx, "order", order)
		if err != nil {
			return "", err
		}
		answer, err := s.ElicitForm(ctx, textForm(fmt.Sprintf("Where does order %d go?", number), "address"))
		if err != nil {
			return "", err
		}
		if answer.Action != mcp.ElicitActionAccept {
			return "", mcpserver.Errorf("Order %d has no address yet.", number)
		}
		return fmt.Sprintf("Order %d goes to %v.", number, answer.Content["address"]), nil
	})

	client := newUser(server, mcp.Revision20260728, answerAll(`{"address":"Basel"}`))
	defer client.Close()
	fmt.Println(client.use("buy", `{}`))
	// Output:
	// ordered, with an idempotency key: true
	// Order 4711 goes to Basel. <nil>
}

// A tool of another server. Its questions are forwarded to the client of this one.
func ExampleProxy() {
	behind := mcpserver.New(mcp.Implementation{Name: "behind", Version: "1.0.0"}, nil)

	type person struct {
		Name string `json:"name"`
	}
	mcpserver.AddTool(behind, &mcp.Tool{Name: "greet"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
		who, err := mcpserver.Elicit[person](ctx, s, "Who are you?")
		if err != nil {
			return "", err
		}
		return "Hello, " + who.Name, nil
	})
	upstream := newUser(behind, mcp.Revision20260728, nil)
	defer upstream.Close()

	gateway := mcpserver.New(mcp.Implementation{Name: "gateway", Version: "1.0.0"}, nil)
	gateway.AddRawTool(&mcp.Tool{Name: "greet"}, mcpserver.Proxy(upstream).CallTool)

	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		r, _ := mcp.ParseRevision(revision)
		client := newUser(gateway, r, answerAll(`{"name":"Ada"}`))
		fmt.Println(client.use("greet", `{}`))
		client.Close()
	}
	// Output:
	// Hello, Ada <nil>
	// Hello, Ada <nil>
}

// The replicas of a server share the keys that encrypt request state.
func ExampleQuestionOptions() {
	os.Setenv("ASKING_KEY", "a1f0c4d26f0c2b7d8e3a5b917c6d4e2ff0e1d2c3b4a5968778695a4b3c2d1e0f")

	key, err := hex.DecodeString(os.Getenv("ASKING_KEY")) // 32 random bytes
	if err != nil {
		panic(err)
	}
	server := mcpserver.New(mcp.Implementation{Name: "replica", Version: "1.0.0"}, &mcpserver.Options{
		Questions: mcpserver.QuestionOptions{SealKeys: [][]byte{key}},
	})

	fmt.Println(server.Dispatcher() != nil)
	// Output: true
}

// A question with a key that the client sees.
func Example_namedQuestion() {
	server := mcpserver.New(mcp.Implementation{Name: "waiter", Version: "1.0.0"}, nil)

	mcpserver.AddTool(server, &mcp.Tool{Name: "greet"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
		answer, err := s.With(peer.WithKey("user_name")).ElicitForm(ctx, textForm("Who are you?", "name"))
		if err != nil {
			return "", err
		}
		if answer.Action != mcp.ElicitActionAccept {
			return "", mcpserver.Errorf("Nobody to greet.")
		}
		return fmt.Sprint("Hello, ", answer.Content["name"]), nil
	})

	client := newUser(server, mcp.Revision20260728, answerAll(`{"name":"Ada"}`))
	defer client.Close()
	fmt.Println(client.use("greet", `{}`))
	// Output: Hello, Ada <nil>
}
