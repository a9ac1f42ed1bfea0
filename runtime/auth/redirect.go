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
	"os/exec"
	"runtime"
	"strconv"
	"time"
)

// OpenBrowser opens a page in the browser of the user. The URL must be an HTTP URL. It is
// not passed to a shell.
func OpenBrowser(page string) error {
	if _, err := parseURL(page, true); err != nil {
		return fmt.Errorf("open browser: %w", err)
	}
	program := []string{"xdg-open"}
	switch runtime.GOOS {
	case "darwin":
		program = []string{"open"}
	case "windows":
		program = []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	cmd := exec.Command(program[0], append(program[1:], page)...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("open browser: %w", err)
	}
	go func() { _ = cmd.Wait() }() // ends with the program that was started
	return nil
}

// redirectTarget is the URL that the authorization server redirects the user to, and the
// listener that receives the redirect.
type redirectTarget struct {
	url      string
	path     string
	listener net.Listener // nil if Authorize receives the redirect
}

const defaultRedirectURL = "http://127.0.0.1/callback"

// newRedirectTarget returns the target of the redirect. If the known client is registered
// with a port that is free, it uses this port.
func (g *AuthorizationCode) newRedirectTarget(known *OAuthClient) (*redirectTarget, error) {
	redirectURL := g.RedirectURL
	if redirectURL == "" {
		redirectURL = defaultRedirectURL
	}
	u, err := parseURL(redirectURL, false)
	switch {
	case err != nil: // also refuses URLs whose redirect an attacker could intercept
		return nil, fmt.Errorf("AuthorizationCode.RedirectURL: %w", err)
	case g.Authorize != nil:
		return &redirectTarget{url: redirectURL}, nil
	case g.OpenBrowser == nil:
		return nil, errors.New("AuthorizationCode has neither OpenBrowser nor Authorize")
	case u.Scheme != "http" || !isLoopback(u.Hostname()):
		return nil, fmt.Errorf("AuthorizationCode.RedirectURL: %q is not an http URL of a loopback address, as OpenBrowser requires", redirectURL)
	}
	if known != nil && u.Port() == "" {
		if old, err := url.Parse(known.redirectURL); err == nil && old.Hostname() == u.Hostname() && old.Path == u.Path {
			if r, err := listenForRedirect(u, old.Port()); err == nil {
				return r, nil
			}
		}
	}
	return listenForRedirect(u, u.Port())
}

// listenForRedirect listens on a port of this machine. An empty port is any free port.
func listenForRedirect(u *url.URL, port string) (*redirectTarget, error) {
	if port == "" {
		port = "0"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, fmt.Errorf("listen for the redirect: %w", err)
	}
	_, port, _ = net.SplitHostPort(l.Addr().String())
	at := url.URL{Scheme: "http", Host: net.JoinHostPort(u.Hostname(), port), Path: u.Path}
	return &redirectTarget{url: at.String(), path: u.Path, listener: l}, nil
}

func (r *redirectTarget) close() {
	if r.listener != nil {
		_ = r.listener.Close()
	}
}

// authorize shows a page to the user and returns the authorization response.
func (g *AuthorizationCode) authorize(ctx context.Context, redirect *redirectTarget, page, state string) (url.Values, error) {
	if g.Authorize != nil {
		redirected, err := g.Authorize(ctx, page)
		if err != nil {
			return nil, err
		}
		u, err := url.Parse(redirected)
		if err != nil {
			return nil, errors.New("AuthorizationCode.Authorize returned a malformed URL") // without the text, which may contain a code
		}
		return u.Query(), nil
	}
	responses := make(chan url.Values, 1)
	server := &http.Server{Handler: redirect.handler(state, responses), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	go func() { _ = server.Serve(redirect.listener) }() // ends when authorize returns
	defer server.Close()
	failed := make(chan error, 1)
	go func() { // ends with OpenBrowser
		if err := g.openBrowser(page); err != nil {
			failed <- fmt.Errorf("show a page: %w", err)
		}
	}()
	select {
	case response := <-responses:
		return response, nil
	case err := <-failed:
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// openBrowser calls OpenBrowser. A panic becomes an error.
func (g *AuthorizationCode) openBrowser(page string) (err error) {
	defer recoverPanic("AuthorizationCode.OpenBrowser", &err)
	return g.OpenBrowser(page)
}

// handler returns a handler that receives the first authorization response with the right
// state. Any page in the user's browser can send other responses.
func (r *redirectTarget) handler(state string, responses chan<- url.Values) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		query := req.URL.Query()
		switch {
		case req.URL.Path != r.path && (req.URL.Path != "/" || r.path != ""):
			http.NotFound(w, req)
			return
		case subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(state)) == 0:
			http.Error(w, "unknown authorization request", http.StatusBadRequest)
			return
		}
		const text = "Done. You can close this page and return to the program.\n"
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, text)
		_ = http.NewResponseController(w).Flush() // the server is closed as soon as the response is received
		select {
		case responses <- query:
		default: // a response was received before
		}
	})
}
