package auth_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/mcpwright/mcp/runtime/auth"
)

// A client whose user agrees in the browser. Its requests to the server carry the token.
func ExampleTransport() {
	transport, err := auth.NewTransport("https://mcp.example.com/mcp", auth.TransportOptions{
		Grant: &auth.AuthorizationCode{
			Name: "Weather Desk",
			Open: func(page string) error {
				fmt.Println("Opening", page)
				return auth.Browse(page)
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	_ = client // for mcpclient.URLEndpoint.HTTP.HTTPClient, or anything else that makes requests to this server
}

// A program that acts on its own account, with a secret that one issuer knows.
func ExampleClientCredentials() {
	_, err := auth.NewTransport("https://mcp.example.com/mcp", auth.TransportOptions{
		Grant: &auth.ClientCredentials{Client: auth.Registration{
			Issuer:       "https://login.example.com",
			ClientID:     "nightly-report",
			ClientSecret: os.Getenv("REPORT_SECRET"),
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
}

// A program that is vouched for by the platform on which it runs.
func ExampleAssertion() {
	_, err := auth.NewTransport("https://mcp.example.com/mcp", auth.TransportOptions{
		Grant: &auth.Assertion{
			Client: auth.Registration{Issuer: "https://login.example.com", ClientID: "nightly-report"},
			Assert: func(context.Context, *auth.Need) (string, error) {
				token, err := os.ReadFile("/var/run/secrets/tokens/mcp")
				return string(token), err
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
}
