// Package auth implements OAuth for MCP servers and clients that use HTTP.
//
// # Servers
//
// A [Guard] protects a server. It publishes the metadata by which clients find the
// authorization server, and refuses requests without a valid token. This program serves a
// protected server:
//
//	func main() {
//		const resource, issuer = "https://mcp.example.com/mcp", "https://login.example.com"
//		verify, err := auth.JWT(&auth.JWTOptions{Issuer: issuer})
//		if err != nil {
//			log.Fatal(err)
//		}
//		guard, err := auth.NewGuard(&auth.GuardOptions{
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
//		http.Handle("/mcp", guard.Protect(streamable.NewHandler(server, &streamable.Options{
//			Hosts: []string{"mcp.example.com"}, // if a proxy passes on the Host header
//		})))
//		log.Fatal(streamable.NewHTTPServer("localhost:8080", nil).ListenAndServe())
//	}
//
// Handlers get their caller with [CallerFromContext]. They require scopes beyond the
// scopes of the guard with [RequireScopes].
//
// # Clients
//
// A [Transport] gets a token when the server requires one, and adds it to all further
// requests. This program lets its user authorize it in a browser:
//
//	func main() {
//		ctx := context.Background()
//		const server = "https://mcp.example.com/mcp"
//		transport, err := auth.NewTransport(server, &auth.TransportOptions{
//			Grant: &auth.AuthorizationCode{ClientName: "Weather Desk", OpenBrowser: auth.OpenBrowser},
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
// The metadata of the server determine the authorization server, and the [Grant]
// determines how to get a token there. Neither the server nor its metadata are trusted.
// The metadata must be for the URL that they were found with. Requests use TLS and do not
// reach private networks. A code is protected by PKCE, and its response must come from the
// right issuer. Credentials are only sent to their issuer, and a token only to the server
// that it was issued for.
package auth
