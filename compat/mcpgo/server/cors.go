package server

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// CORSConfig describes which web pages of other origins may use a server.
type CORSConfig struct {
	// AllowedOrigins are the origins; "*" allows all.
	AllowedOrigins []string
	// AllowedMethods are the methods of requests. The default is GET, POST, DELETE and OPTIONS.
	AllowedMethods []string
	// AllowedHeaders are the headers of requests. The default are the headers of the protocol, and
	// Authorization.
	AllowedHeaders []string
	// ExposedHeaders are the headers of responses that pages can read. The default is
	// Mcp-Session-Id.
	ExposedHeaders []string
	// AllowCredentials allows requests with cookies.
	AllowCredentials bool
	// MaxAge is how long browsers may cache the permission, in seconds. Zero sends none.
	MaxAge int
}

// CORSOption changes a [CORSConfig].
type CORSOption func(*CORSConfig)

// WithCORSAllowedOrigins sets AllowedOrigins.
func WithCORSAllowedOrigins(origins ...string) CORSOption {
	return func(c *CORSConfig) { c.AllowedOrigins = origins }
}

// WithCORSAllowedMethods sets AllowedMethods.
func WithCORSAllowedMethods(methods ...string) CORSOption {
	return func(c *CORSConfig) { c.AllowedMethods = methods }
}

// WithCORSAllowedHeaders sets AllowedHeaders.
func WithCORSAllowedHeaders(headers ...string) CORSOption {
	return func(c *CORSConfig) { c.AllowedHeaders = headers }
}

// WithCORSExposedHeaders sets ExposedHeaders.
func WithCORSExposedHeaders(headers ...string) CORSOption {
	return func(c *CORSConfig) { c.ExposedHeaders = headers }
}

// WithCORSAllowCredentials sets AllowCredentials.
func WithCORSAllowCredentials() CORSOption { return func(c *CORSConfig) { c.AllowCredentials = true } }

// WithCORSMaxAge sets MaxAge.
func WithCORSMaxAge(seconds int) CORSOption { return func(c *CORSConfig) { c.MaxAge = seconds } }

func newCORS(opts []CORSOption) *CORSConfig {
	c := &CORSConfig{
		AllowedMethods: []string{http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodOptions},
		AllowedHeaders: []string{"Content-Type", "Accept", HeaderKeySessionID, HeaderKeyProtocolVersion, "Mcp-Method", "Mcp-Name", "Last-Event-ID", "Authorization"},
		ExposedHeaders: []string{HeaderKeySessionID},
	}
	for _, opt := range opts {
		opt(c)
	}
	if len(c.AllowedOrigins) == 0 {
		return nil
	}
	return c
}

// handle sets the headers of a response, and reports whether it has answered the request. A nil
// config does nothing.
func (c *CORSConfig) handle(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if c == nil || origin == "" {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	all := slices.Contains(c.AllowedOrigins, "*")
	preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
	if all || slices.Contains(c.AllowedOrigins, origin) {
		if all && !c.AllowCredentials {
			origin = "*"
		}
		h.Set("Access-Control-Allow-Origin", origin)
		if c.AllowCredentials {
			h.Set("Access-Control-Allow-Credentials", "true")
		}
		h.Set("Access-Control-Expose-Headers", strings.Join(c.ExposedHeaders, ", "))
		if preflight {
			h.Set("Access-Control-Allow-Methods", strings.Join(c.AllowedMethods, ", "))
			h.Set("Access-Control-Allow-Headers", strings.Join(c.AllowedHeaders, ", "))
			if c.MaxAge > 0 {
				h.Set("Access-Control-Max-Age", strconv.Itoa(c.MaxAge))
			}
		}
	}
	if preflight {
		w.WriteHeader(http.StatusNoContent)
	}
	return preflight
}
