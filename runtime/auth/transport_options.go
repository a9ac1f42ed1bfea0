package auth

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// TransportOptions are the options of a [TransportContext]. Only Grant must be set.
type TransportOptions struct {
	// Grant gets tokens: [AuthorizationCode] with the consent of a user,
	// [ClientCredentials] for programs on their own account, [Assertion] with what
	// somebody else vouches for.
	Grant Grant
	// Base makes the requests to the server; nil is [http.DefaultTransport].
	Base http.RoundTripper
	// Client makes the requests to whoever issues tokens, without following redirects.
	// Where to is up to the server, which may be a stranger's: nil is a client of the
	// transport's own that uses no proxy and connects to no address of a private
	// network, unless the server itself is on this machine.
	Client *http.Client
	// AllowInsecure lets tokens travel without TLS, and the transport's own client
	// connect to every address: for networks whose every member is trusted.
	AllowInsecure bool
	// Store keeps tokens and what the client is registered as beyond the end of the
	// program; nil keeps them in memory.
	Store Store
	// Scopes are what a token is asked for where the server does not say what a
	// request needs; nil is all that the server knows of.
	Scopes []string
	// OmitResource asks for tokens without naming the server, for issuers that refuse
	// who does, such as Entra ID: which server a token is for is up to its scopes.
	OmitResource bool
	// Patience is how long getting a token may take, the user's part included.
	// Default 5 min, negative is no limit.
	Patience time.Duration
	// Logger takes what nobody else is told; nil is [slog.Default].
	Logger *slog.Logger
}

// complete returns a copy of o with the defaults filled in.
func (o TransportOptions) complete(server *url.URL) TransportOptions {
	if o.Base == nil {
		o.Base = http.DefaultTransport
	}
	if o.Client == nil {
		o.Client = newGuardedClient(o.AllowInsecure || isLoopback(server.Hostname()))
	}
	if o.Store == nil {
		o.Store = &memory{}
	}
	o.Store = careful{o.Store}
	if o.Patience == 0 {
		o.Patience = 5 * time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// patient returns a context that ends with the patience.
func (o *TransportOptions) patient() (context.Context, context.CancelFunc) {
	if o.Patience < 0 {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(context.Background(), o.Patience)
}

// fetch returns what asks those that issue tokens for this server.
func (o *TransportOptions) fetch(server *url.URL) *fetcher {
	return &fetcher{client: staying(o.Client), insecure: o.AllowInsecure, local: isLoopback(server.Hostname())}
}
