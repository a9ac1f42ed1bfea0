package auth_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/auth"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// adaOnly is an example of a verifier. Programs usually use [auth.JWT].
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
	guard, err := auth.NewGuard(&auth.GuardOptions{
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
	mux.Handle("/mcp", guard.Protect(streamable.NewHandler(server, nil)))

	response := httptest.NewRecorder()
	mux.ServeHTTP(response, httptest.NewRequest(http.MethodPost, "/mcp", nil))
	fmt.Println(response.Code, response.Header().Get("WWW-Authenticate"))
	// Output: 401 Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp", scope="mcp:use"
}

func ExampleRequireScopes() {
	remove := func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		if err := auth.RequireScopes(ctx, "files:write"); err != nil {
			return "", err
		}
		return "removed", nil
	}
	server := mcpserver.New(mcp.Implementation{Name: "files", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "remove"}, remove)

	reader := auth.ContextWithCaller(context.Background(), &auth.Caller{Subject: "ada", Scopes: []string{"files:read"}})
	_, err := remove(reader, nil, struct{}{})
	fmt.Println(err)
	// Output: insufficient scope: required ["files:write"], missing ["files:write"]
}

func ExampleCallerFromContext() {
	notes := map[string]string{"ada": "buy milk", "bob": "sell milk"}
	read := func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		return notes[auth.CallerFromContext(ctx).Subject], nil
	}

	ctx := auth.ContextWithCaller(context.Background(), &auth.Caller{Subject: "ada"})
	text, err := read(ctx, nil, struct{}{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text)
	// Output: buy milk
}

// This client lets its user authorize it in a browser.
func ExampleTransport() {
	transport, err := auth.NewTransport("https://mcp.example.com/mcp", &auth.TransportOptions{
		Grant: &auth.AuthorizationCode{
			ClientName: "Weather Desk",
			OpenBrowser: func(page string) error {
				fmt.Println("Opening", page)
				return auth.OpenBrowser(page)
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	_ = client // use it as HTTPClient of an endpoint of package mcpclient
}

// This program acts for itself, and has a client secret.
func ExampleClientCredentials() {
	_, err := auth.NewTransport("https://mcp.example.com/mcp", &auth.TransportOptions{
		Grant: &auth.ClientCredentials{Client: auth.OAuthClient{
			Issuer:       "https://login.example.com",
			ClientID:     "nightly-report",
			ClientSecret: os.Getenv("REPORT_SECRET"),
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
}

// This program gets its assertion from the platform that it runs on.
func ExampleAssertion() {
	_, err := auth.NewTransport("https://mcp.example.com/mcp", &auth.TransportOptions{
		Grant: &auth.Assertion{
			Client: auth.OAuthClient{Issuer: "https://login.example.com", ClientID: "nightly-report"},
			Assert: func(context.Context, *auth.TokenRequest) (string, error) {
				token, err := os.ReadFile("/var/run/secrets/tokens/mcp")
				return string(token), err
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
}
