package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A landing is where the user is sent back to by an issuer.
type landing struct {
	url      string
	path     string
	listener net.Listener // nil where the program itself knows
}

const defaultRedirect = "http://127.0.0.1/callback"

// land chooses where the user is sent back to: where the client is registered with, if it
// can be had again.
func (g *AuthorizationCode) land(known *Registration) (*landing, error) {
	redirect := g.RedirectURL
	if redirect == "" {
		redirect = defaultRedirect
	}
	u, err := parseURL(redirect, false)
	switch {
	case err != nil: // whoever is on the way, or takes the scheme, could take the code
		return nil, fmt.Errorf("the user cannot be sent back: %w", err)
	case g.Authorize != nil:
		return &landing{url: redirect}, nil
	case g.Open == nil:
		return nil, errors.New("nobody can show the user a page: AuthorizationCode has neither Open nor Authorize")
	case u.Scheme != "http" || !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("no user can be awaited at %q: it is no URL with http on this machine", redirect)
	}
	if known != nil && u.Port() == "" {
		if old, err := url.Parse(known.redirect); err == nil && old.Hostname() == u.Hostname() && old.Path == u.Path {
			if l, err := listen(u, old.Port()); err == nil {
				return l, nil
			}
		}
	}
	return listen(u, u.Port())
}

// listen returns a landing on one of this machine's ports; an empty one is any.
func listen(u *url.URL, port string) (*landing, error) {
	if port == "" {
		port = "0"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("await the user: %w", err)
	}
	_, port, _ = net.SplitHostPort(l.Addr().String())
	at := url.URL{Scheme: "http", Host: net.JoinHostPort(u.Hostname(), port), Path: u.Path}
	return &landing{url: at.String(), path: u.Path, listener: l}, nil
}

func (l *landing) close() {
	if l.listener != nil {
		_ = l.listener.Close()
	}
}

// lead shows the user a page and returns what the issuer sends back.
func (g *AuthorizationCode) lead(ctx context.Context, back *landing, page, state string) (url.Values, error) {
	if g.Authorize != nil {
		redirected, err := g.Authorize(ctx, page)
		if err != nil {
			return nil, err
		}
		u, err := url.Parse(redirected)
		if err != nil {
			return nil, errors.New("where the user was sent back to is no URL") // the text may hold a code
		}
		return u.Query(), nil
	}
	answers := make(chan url.Values, 1)
	server := &http.Server{Handler: back.welcome(state, answers), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	go func() { _ = server.Serve(back.listener) }() // ends when lead returns
	defer server.Close()
	failed := make(chan error, 1)
	go func() { // ends with Open
		if err := g.show(page); err != nil {
			failed <- fmt.Errorf("show a page: %w", err)
		}
	}()
	select {
	case answer := <-answers:
		return answer, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// show calls Open.
func (g *AuthorizationCode) show(page string) (err error) {
	defer recovered("AuthorizationCode.Open", &err)
	return g.Open(page)
}

// welcome takes the first answer that is to our question. Others could come from any page
// that the user has open.
func (l *landing) welcome(state string, answers chan<- url.Values) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		switch {
		case r.URL.Path != l.path && (r.URL.Path != "/" || l.path != ""):
			http.NotFound(w, r)
			return
		case subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(state)) == 0:
			http.Error(w, "Nobody has asked for this.", http.StatusBadRequest)
			return
		}
		const text = "That is all. You can close this page and go back to the program.\n"
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush() // nobody is left to do so later
		select {
		case answers <- query:
		default: // there was one
		}
	})
}
