// Package auth lets the right callers use an MCP server over HTTP, and lets a client be
// one of them: OAuth, at both ends.
//
// # A server
//
// A Guard stands in front of a server, tells clients where to get a token, and lets
// them in with one. The first program of a server that is protected:
//
//	func main() {
//		const resource, issuer = "https://mcp.example.com/mcp", "https://login.example.com"
//		verify, err := auth.JWT(auth.JWTOptions{Issuer: issuer})
//		if err != nil {
//			log.Fatal(err)
//		}
//		guard, err := auth.NewGuard(auth.GuardOptions{
//			Resource:             resource,
//			AuthorizationServers: []string{issuer},
//			Verify:               verify,
//			Scopes:               []string{"mcp:use"},
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//		server := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0"}, nil)
//		http.Handle(guard.Metadata())
//		http.Handle("/mcp", guard.Protect(server.Handler(&streamable.Options{
//			Hosts: []string{"mcp.example.com"}, // a proxy in front may pass the name on
//		})))
//		log.Fatal(streamable.NewHTTPServer("localhost:8080", nil).ListenAndServe())
//	}
//
// Handlers learn who calls by CallerOf, and ask for more than every request needs by
// NeedScopes.
//
// # A client
//
// A Transport gets a token when the server wants to see one, and shows it from then on.
// The first program of a client whose user agrees in a browser:
//
//	func main() {
//		ctx := context.Background()
//		const server = "https://mcp.example.com/mcp"
//		transport, err := auth.NewTransport(server, auth.TransportOptions{
//			Grant: &auth.AuthorizationCode{Name: "Weather Desk", Open: auth.Browse},
//		})
//		if err != nil {
//			log.Fatal(err)
//		}
//		at := mcpclient.URL(server)
//		at.HTTP.HTTPClient = &http.Client{Transport: transport}
//		client, err := mcpclient.Connect(ctx, at, nil) // waits for the user
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer client.Close()
//	}
//
// Who issues tokens for the server, the server says; how to get one there, the Grant
// knows. What a stranger says is used with care: metadata must bear the names that they
// were found by, nothing is asked without TLS or of an address inside a private network,
// a code is tied to who asked for it, and the answer to where it comes from. A secret is
// shown to the issuer that it belongs to, and a token to the server that it is for.
package auth
