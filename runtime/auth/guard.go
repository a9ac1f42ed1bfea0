package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/verified"
)

// Guard is what stands in front of a server and lets in those who have a token
// for it. It is safe for concurrent use.
type Guard struct {
	opts      GuardOptions
	audiences []string
	pattern   string // of the metadata
	metadata  []byte
	announced string // the URL of the metadata
}

// NewGuard returns a guard, or what is wrong with its options.
func NewGuard(opts GuardOptions) (*Guard, error) {
	resource, err := opts.complete()
	if err != nil {
		return nil, fmt.Errorf("guard a server: %w", err)
	}
	document, err := json.Marshal(&ResourceMetadata{
		Resource:               opts.Resource,
		AuthorizationServers:   opts.AuthorizationServers,
		ScopesSupported:        union(opts.Scopes, opts.ScopesSupported),
		BearerMethodsSupported: []string{"header"},
		ResourceName:           opts.Name,
		ResourceDocumentation:  opts.Documentation,
	})
	if err != nil {
		return nil, fmt.Errorf("guard a server: write its metadata: %w", err)
	}
	at := wellKnown(resource, resourceWellKnown)
	g := &Guard{opts: opts, pattern: at.EscapedPath(), metadata: document, announced: at.String()}
	g.audiences = append(slices.Clone(opts.Audiences), opts.Resource)
	if strings.Trim(resource.Path, "/") == "" { // one URL, which some write with a slash and some without
		root := strings.TrimSuffix(opts.Resource, "/")
		g.audiences = append(g.audiences, root, root+"/")
	}
	return g, nil
}

// Metadata returns the document that tells clients where to get a token, and the
// pattern of its URL for a [http.ServeMux]. Everybody may read it, pages of other
// origins as well.
func (g *Guard) Metadata() (pattern string, handler http.Handler) {
	return g.pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			h.Set("Content-Type", "application/json")
			w.Write(g.metadata)
		case http.MethodOptions:
			h.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
			h.Set("Access-Control-Allow-Headers", "*")
			w.WriteHeader(http.StatusNoContent)
		default:
			h.Set("Allow", "GET, HEAD, OPTIONS")
			http.Error(w, "This document can only be read.", http.StatusMethodNotAllowed)
		}
	})
}

// Protect returns a handler that lets requests pass to next if their token is
// valid, for this server, and has the scopes that all need. Any other request is
// refused before anything of its body has been read. Behind it [CallerOf] knows
// who calls.
//
// What next gets has no header Authorization any more: a token for this server is
// nobody else's, and what is not there is neither passed on nor logged by mistake.
// So a guard behind a guard lets nobody in. A program that has its authorization
// server exchange tokens for others keeps them in its [Verifier].
func (g *Guard) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, no := g.admit(r)
		if no != nil {
			no.write(w, g)
			return
		}
		v := visit{caller, g, new(demand)}
		inner := r.WithContext(verified.With(r.Context(), v))
		inner.Header = maps.Clone(r.Header)
		inner.Header.Del("Authorization")
		answer := &guardedWriter{ResponseWriter: w, guard: g, demand: v.demand}
		next.ServeHTTP(answer, inner)
		answer.finish()
	})
}

// admit finds out who sends a request and whether he may.
func (g *Guard) admit(r *http.Request) (*Caller, *guardRefusal) {
	token, no := bearerToken(r)
	if no != nil {
		return nil, no
	}
	ctx := r.Context()
	caller, err := g.verify(ctx, token)
	if err == nil {
		err = g.suits(caller)
	}
	switch {
	case errors.Is(err, ErrInvalidToken):
		g.opts.Logger.DebugContext(ctx, "token refused", "error", err)
		return nil, &refusedInvalid
	case err != nil && ctx.Err() != nil: // the client does not wait for it
		return nil, &refusedTrouble
	case err != nil:
		g.opts.Logger.ErrorContext(ctx, "token could not be verified", "error", err)
		return nil, &refusedTrouble
	case g.lacks(caller, g.opts.Scopes) != nil:
		return nil, &refusedScope
	}
	return caller, nil
}

// verify calls the verifier, of which nothing is taken for granted.
func (g *Guard) verify(ctx context.Context, token string) (caller *Caller, err error) {
	defer recovered("the verifier", &err)
	caller, err = g.opts.Verify(ctx, token)
	if err == nil && caller == nil {
		err = errors.New("the verifier returned neither a caller nor an error")
	}
	return caller, err
}

// suits checks what any verifier could have forgotten. Who has no name could not
// be kept apart from others.
func (g *Guard) suits(c *Caller) error {
	switch {
	case !slices.ContainsFunc(c.Audience, func(a string) bool { return slices.Contains(g.audiences, a) }):
		return fmt.Errorf("%w: its audience is %q and not %q", ErrInvalidToken, c.Audience, g.opts.Resource)
	case c.Expiry.IsZero() && !g.opts.NoExpiry:
		return fmt.Errorf("%w: it never expires", ErrInvalidToken)
	case !c.Expiry.IsZero() && !time.Now().Before(c.Expiry):
		return fmt.Errorf("%w: it expired at %s", ErrInvalidToken, c.Expiry)
	case c.Subject == "" && c.ClientID == "":
		return fmt.Errorf("%w: it names neither a subject nor a client", ErrInvalidToken)
	}
	return nil
}

// lacks returns what of the scopes a caller has not been given. There may be no
// guard.
func (g *Guard) lacks(c *Caller, needed []string) (missing []string) {
	for _, needs := range needed {
		grants := func(has string) bool {
			return has == needs || g != nil && g.opts.Implies != nil && g.opts.Implies(has, needs)
		}
		if c == nil || !slices.ContainsFunc(c.Scopes, grants) {
			missing = append(missing, needs)
		}
	}
	return missing
}
