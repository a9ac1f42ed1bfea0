package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/mcpwright/mcp/runtime/auth"
)

var loginCommand = command{
	name: "login", usage: "[flags] SERVER",
	summary: "Log in to a server over HTTP, in the browser, and store the token.",
	example: "mcpwright login https://example.com/mcp",
	help:    "Other commands log in by themselves if a person can answer. The tokens are in files that only the user may read.",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		return withTransport(fs, func(ctx context.Context, e *environment, s *server, t *auth.Transport) error {
			if err := t.Login(ctx); err != nil {
				return &unreachableError{fmt.Errorf("log in to %s: %w", s.name, err)}
			}
			e.errs.Printf("Logged in to %s.\n", s.name)
			return nil
		})
	},
}

var logoutCommand = command{
	name: "logout", usage: "[flags] SERVER",
	summary: "Delete the token of a server, and revoke it if the authorization server supports that.",
	example: "mcpwright logout https://example.com/mcp",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		return withTransport(fs, func(ctx context.Context, e *environment, s *server, t *auth.Transport) error {
			if err := t.Logout(ctx); err != nil {
				return fmt.Errorf("log out from %s: %w", s.name, err)
			}
			e.errs.Printf("Logged out from %s.\n", s.name)
			return nil
		})
	},
}

// withTransport runs do with the transport of the server that the arguments name.
func withTransport(fs *flag.FlagSet, do func(context.Context, *environment, *server, *auth.Transport) error) func(context.Context, *environment, arguments) error {
	var c connection
	fs.StringVar(&c.config, "config", "", "find the name of the server in this configuration `file` only")
	return func(ctx context.Context, e *environment, args arguments) error {
		s, err := c.takeServer(e, &args)
		if err != nil {
			return err
		}
		if s.URL == "" || len(args.words) > 0 {
			return usagef("give one server with a URL; a command needs no login")
		}
		person := *e
		person.interactive = true // the user has asked for it
		t, err := person.transport(s, http.DefaultTransport, nil)
		if err != nil {
			return err
		}
		return do(ctx, e, s, t)
	}
}

// errNoLogin is the error if a server requires a login and no person can log in.
var errNoLogin = errors.New("the server requires a login")

// transport returns a transport that logs in to a server if it requires that. The base sends the
// requests. If showLogin is not nil, it is called with the page of each login, and with "" after the
// login.
func (e *environment) transport(s *server, base http.RoundTripper, showLogin func(page string)) (*auth.Transport, error) {
	grant := &auth.AuthorizationCode{ClientName: "mcpwright", OpenBrowser: func(page string) error {
		if !e.interactive {
			return errNoLogin
		}
		e.errs.Printf("%s requires a login. If no browser opens, visit:\n  %s\n", s.name, page)
		_ = e.openBrowser(page) // the user has the URL
		return nil
	}}
	opts := &auth.TransportOptions{Grant: grant, Base: base}
	if e.configDir != "" {
		opts.Store = auth.FileStore(filepath.Join(e.configDir, "tokens"))
	}
	if showLogin != nil && opts.Store != nil {
		grant.OpenBrowser = func(page string) error {
			showLogin(page)
			return nil
		}
		opts.Store = loginStore{opts.Store, func() { showLogin("") }}
	}
	return auth.NewTransport(s.URL, opts)
}

// loginStore calls a function after each login. A transport locks its token during a login.
type loginStore struct {
	auth.Store
	ended func()
}

// Lock implements [auth.Store].
func (s loginStore) Lock(ctx context.Context, key string) (unlock func(), err error) {
	free, err := s.Store.Lock(ctx, key)
	if err != nil {
		return nil, err
	}
	return func() {
		s.ended()
		free()
	}, nil
}
