package auth_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/auth"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// adaOnly stands for a verifier such as that of [auth.JWT].
func adaOnly(_ context.Context, token string) (*auth.Caller, error) {
	if token != "token-of-ada" {
		return nil, auth.ErrInvalidToken
	}
	return &auth.Caller{
		Subject: "ada", Issuer: "https://login.example.com", Audience: []string{"https://mcp.example.com/mcp"},
		Scopes: []string{"mcp:use"}, Expiry: time.Now().Add(time.Hour),
	}, nil
}

func ExampleGuard() {
	guard, err := auth.NewGuard(auth.GuardOptions{
		Resource:             "https://mcp.example.com/mcp",
		AuthorizationServers: []string{"https://login.example.com"},
		Verify:               adaOnly,
		Scopes:               []string{"mcp:use"},
	})
	if err != nil {
		log.Fatal(err)
	}
	server := mcpserver.New(mcp.Implementation{Name: "files", Version: "1.0.0"}, nil)
	mux := http.NewServeMux()
	mux.Handle(guard.Metadata())
	mux.Handle("/mcp", guard.Protect(server.Handler(nil)))

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/mcp", nil))
	fmt.Println(answer.Code, answer.Header().Get("WWW-Authenticate"))
	// Output: 401 Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp", scope="mcp:use"
}

func ExampleNeedScopes() {
	remove := func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		if err := auth.NeedScopes(ctx, "files:write"); err != nil {
			return "", err
		}
		return "removed", nil
	}
	server := mcpserver.New(mcp.Implementation{Name: "files", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "remove"}, remove)

	reader := auth.WithCaller(context.Background(), &auth.Caller{Subject: "ada", Scopes: []string{"files:read"}})
	_, err := remove(reader, nil, struct{}{})
	fmt.Println(err)
	// Output: use scopes ["files:write"]: the caller has no ["files:write"]
}

func ExampleCallerOf() {
	notes := map[string]string{"ada": "buy milk", "bob": "sell milk"}
	read := func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		return notes[auth.CallerOf(ctx).Subject], nil
	}

	ctx := auth.WithCaller(context.Background(), &auth.Caller{Subject: "ada"})
	text, err := read(ctx, nil, struct{}{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
	// Output: buy milk
}
